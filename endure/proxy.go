//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy is between some Edges and the Edge wire.
type proxy struct {
	*toxiproxy.Proxy
	server *toxiproxy.ApiServer
}

func startProxy(upstream string) (*proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(server, "edge wire", "127.0.0.1:0", upstream), server}
	return p, p.Start()
}

// proxyTime is how long a change of what the proxy does may take. toxiproxy 2.5.0 waits for ever if a link ends during the change while
// something is held for it.
const proxyTime = 10 * time.Second

func inProxyTime(change func() error) error {
	done := make(chan error, 1)
	go func() { done <- change() }()
	select {
	case err := <-done:
		return err
	case <-time.After(proxyTime):
		return errors.New("toxiproxy hangs, which isn't the Control Plane's fault; repeat the run")
	}
}

// toxic is what a proxy does to what it carries, in toxiproxy's words.
type toxic struct {
	kind       string
	part       float64 // of the connections, drawn for each direction by itself
	attributes map[string]int
}

// toxic is what a fault has the proxy do.
func (f *fault) toxic() toxic {
	switch f.Kind {
	case proxySliced:
		return toxic{"slicer", 1, map[string]int{"average_size": 1 + f.Size/8, "delay": 50}}
	case proxyReorders:
		return toxic{"latency", 0.5, map[string]int{"latency": int(f.late().Milliseconds())}}
	default:
		return toxic{"latency", 1, map[string]int{"latency": f.Size, "jitter": f.Size / 4}}
	}
}

// spoil has it do something to what it carries, in both directions, until heal.
func (p *proxy) spoil(what toxic) error {
	return inProxyTime(func() error {
		for _, stream := range []string{"upstream", "downstream"} {
			toxic, err := json.Marshal(map[string]any{"type": what.kind, "stream": stream, "toxicity": what.part, "attributes": what.attributes})
			if err != nil {
				return err
			}
			if _, err := p.Toxics.AddToxicJson(strings.NewReader(string(toxic))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *proxy) heal() error {
	return inProxyTime(func() error {
		p.Toxics.ResetToxics(context.Background())
		return nil
	})
}

// anew ends all its links and begins again unspoiled, at the same address. It is for when links were given up meanwhile, and heal could hang.
func (p *proxy) anew() error {
	old, next := p.Proxy, toxiproxy.NewProxy(p.server, p.Name, p.Listen, p.Upstream)
	err := inProxyTime(func() error {
		old.Stop()
		return next.Start()
	})
	if err == nil {
		p.Proxy = next
	}
	return err
}

// cut ends all its links, and refuses new ones until Start.
func (p *proxy) cut() error {
	return inProxyTime(func() error {
		p.Stop()
		return nil
	})
}
