//go:build linux

package main

import (
	"context"
	"encoding/json"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy is between some Edges and the Edge wire.
type proxy struct{ *toxiproxy.Proxy }

func startProxy(upstream string) (*proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(server, "edge wire", "127.0.0.1:0", upstream)}
	return p, p.Start()
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
}

func (p *proxy) heal() { p.Toxics.ResetToxics(context.Background()) }
