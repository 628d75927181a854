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

// spoil has it do something to what it carries, in both directions, until heal; on so great a part of its connections.
func (p *proxy) spoil(kind string, part float64, attributes map[string]int) error {
	for _, stream := range []string{"upstream", "downstream"} {
		toxic, err := json.Marshal(map[string]any{"type": kind, "stream": stream, "toxicity": part, "attributes": attributes})
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
