package main

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"iop/configs"
	"iop/edge"
	"iop/edge/nodes"
)

func TestAgentNodes(t *testing.T) {
	sum := sha256.Sum256([]byte("s3cret"))
	got := agentNodes([]configs.EdgeNode{
		{ID: "asked", Providers: []configs.EdgeProvider{{ID: "p", Type: "vllm", BaseURL: "http://h"}}},
		{ID: "a", Name: "A", Labels: map[string]string{"k": "v"}, Agent: true, TokenSHA256: strings.ToUpper(hex.EncodeToString(sum[:])),
			Providers: []configs.EdgeProvider{{ID: "p", Type: "vllm", Models: []string{"m"}}}},
		{ID: "b", Agent: true},
	})
	want := []nodes.Node{
		{ID: "a", Name: "A", Labels: map[string]string{"k": "v"}, TokenSHA256: &sum, Providers: []edge.Provider{{ID: "p", Type: "vllm", Models: []string{"m"}}}},
		{ID: "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATakenNodeListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := &configs.Edge{Edge: configs.EdgeIdentity{ID: "e", NodeListen: l.Addr().String()}}
	if _, err := agentSite(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("error %v", err)
	}
	cfg.Edge.NodeListen = ""
	if site, err := agentSite(cfg, slog.New(slog.DiscardHandler)); site != nil || err != nil {
		t.Errorf("without an address: %v, %v", site, err)
	}
}
