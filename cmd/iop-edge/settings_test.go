package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"iop/configs"
	"iop/edge"
)

// A script applies settings, and disables a new provider as soon as that has succeeded.
func TestAppliedProvidersCanBeOrderedAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte("edge: {id: e}\ncontrol_plane: {address: 127.0.0.1:1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configs.LoadEdge(configs.Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	probed, err := edge.NewProbedSite(edge.ProbeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := edgeOptions(cfg, manageSite(cfg, probed, probed), probed, slog.New(slog.DiscardHandler))
	for _, c := range []*edge.Command{
		{Operation: "config.apply", Parameters: map[string]any{"settings": "nodes: [{id: n, providers: [{id: p, type: vllm, base_url: 'http://127.0.0.1:1'}]}]"}},
		{Operation: "provider.disable", NodeID: "n", Parameters: map[string]any{"provider_id": "p"}},
	} {
		if _, err := o.Operations[c.Operation](t.Context(), c); err != nil {
			t.Errorf("%s: %v", c.Operation, err)
		}
	}
}
