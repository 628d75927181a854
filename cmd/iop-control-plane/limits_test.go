package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iop/configs"
	"iop/wire"
)

// configs doesn't know the wire, and writes its limits again. Each is tried at the limit and beyond it.
func TestConfigurationsKeepTheWiresLimits(t *testing.T) {
	controlPlane := func(key string, value any) string { return fmt.Sprintf("edges: {%s: %v}\n", key, value) }
	edge := func(key, value string) string {
		return fmt.Sprintf("edge: {id: e, %s: %s}\ncontrol_plane: {address: 'cp:1'}\n", key, value)
	}
	labels := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("k%d: v", i))
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	node := func(providers int) string {
		text := "node: {id: n}\nedge: {address: 'edge:1'}\nproviders:\n"
		for i := range providers {
			text += fmt.Sprintf("  - {id: p%d, type: vllm, base_url: 'http://h', capacity: 1}\n", i)
		}
		return text
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		load       func(configs.Source) error
		at, beyond string
	}{
		"the shortest heartbeat": {loadControlPlane, controlPlane("heartbeat_interval", wire.ShortestHeartbeat), controlPlane("heartbeat_interval", wire.ShortestHeartbeat-1)},
		"the longest heartbeat":  {loadControlPlane, controlPlane("heartbeat_interval", wire.LongestHeartbeat), controlPlane("heartbeat_interval", wire.LongestHeartbeat+1)},
		"the largest frame":      {loadControlPlane, controlPlane("max_frame_bytes", wire.MostFrameBytes), controlPlane("max_frame_bytes", wire.MostFrameBytes+1)},
		"an id":                  {loadEdge, "edge: {id: " + long(wire.MaxIDBytes) + "}\n", "edge: {id: " + long(wire.MaxIDBytes+1) + "}\n"},
		"a name":                 {loadEdge, edge("name", long(wire.MaxTextBytes)), edge("name", long(wire.MaxTextBytes+1))},
		"labels":                 {loadEdge, edge("labels", labels(wire.MaxLabels)), edge("labels", labels(wire.MaxLabels+1))},
		"a label's key":          {loadEdge, edge("labels", "{"+long(wire.MaxTextBytes)+": v}"), edge("labels", "{"+long(wire.MaxTextBytes+1)+": v}")},
		"a label's value":        {loadEdge, edge("labels", "{k: "+long(wire.MaxTextBytes)+"}"), edge("labels", "{k: "+long(wire.MaxTextBytes+1)+"}")},
		"a node's providers":     {loadNode, node(wire.MaxNodeProviders), node(wire.MaxNodeProviders + 1)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.load(sourceOf(t, c.at)); err != nil {
				t.Errorf("the wire's limit is refused: %v", err)
			}
			if c.load(sourceOf(t, c.beyond)) == nil {
				t.Error("more than the wire's limit is taken")
			}
		})
	}
}

func TestDefaultsAreTheWires(t *testing.T) {
	c, err := configs.LoadControlPlane(sourceOf(t, "{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Edges.HeartbeatInterval != wire.DefaultHeartbeat || c.Edges.MaxFrameBytes != wire.DefaultMaxFrameBytes {
		t.Errorf("heartbeats every %v, frames of %d bytes", c.Edges.HeartbeatInterval, c.Edges.MaxFrameBytes)
	}
}

func sourceOf(t *testing.T, text string) configs.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return configs.Source{File: file, Dev: true} // so that nothing is asked for that has nothing to do with limits
}

func loadControlPlane(s configs.Source) error { _, err := configs.LoadControlPlane(s); return err }

func loadEdge(s configs.Source) error { _, err := configs.LoadEdge(s); return err }

func loadNode(s configs.Source) error { _, err := configs.LoadNode(s); return err }
