package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"iop/edge"
)

// requestTime is what a request at a test's node takes: one ends so often at each provider of a node that gets no new ones.
const requestTime = 200 * time.Millisecond

// testSite has two nodes: gpu-1 with two providers, gpu-2 with one. It stands still but for nodes that are drained, where the
// requests under way end by and by, and those that a test takes down.
type testSite struct {
	drained func(nodeID string) bool // the Edge's order; it doesn't come to the machines
	downed  chan struct{}

	mu    sync.Mutex
	nodes []edge.Node
}

func newTestSite() *testSite {
	provider := func(id string, model string, c edge.Counters) edge.Provider {
		return edge.Provider{ID: id, Type: "vllm", Models: []string{model}, Status: edge.Available, Health: edge.Online, General: c}
	}
	return &testSite{downed: make(chan struct{}, 1), nodes: []edge.Node{
		{ID: "gpu-1", Name: "h100 machine", Labels: map[string]string{"gpu": "h100"}, Connected: true, Providers: []edge.Provider{
			provider("vllm-0", "qwen3-32b", edge.Counters{Capacity: 8, InFlight: 3}), provider("vllm-1", "gemma-3-27b-it", edge.Counters{Capacity: 4, InFlight: 4, Queued: 2})}},
		{ID: "gpu-2", Name: "l40s machine", Labels: map[string]string{"gpu": "l40s"}, Connected: true, Providers: []edge.Provider{
			provider("vllm-0", "qwen3-32b", edge.Counters{Capacity: 2})}},
	}}
}

// Nodes has loads of this very moment, as backends tell theirs when they are asked.
func (s *testSite) Nodes() []edge.Node {
	s.change(func(n *edge.Node) bool {
		for i := range n.Providers {
			n.Providers[i].LoadAt = time.Now()
		}
		return false
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

func (s *testSite) Run(ctx context.Context, changed func()) {
	changed()
	requests := time.NewTicker(requestTime)
	defer requests.Stop()
	for {
		select {
		case <-requests.C:
			if s.change(s.endRequests) {
				changed()
			}
		case <-s.downed:
			changed()
		case <-ctx.Done():
			return
		}
	}
}

// change puts nodes in the place of those that were told, which are never changed; how tells whether it did something.
func (s *testSite) change(how func(*edge.Node) bool) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := slices.Clone(s.nodes)
	for i := range nodes {
		nodes[i].Providers = slices.Clone(nodes[i].Providers)
		changed = how(&nodes[i]) || changed
	}
	s.nodes = nodes
	return changed
}

func (s *testSite) endRequests(n *edge.Node) (changed bool) {
	for i := range n.Providers {
		if p := &n.Providers[i]; p.General.InFlight > 0 && s.drained(n.ID) {
			p.General.InFlight, p.General.Queued = p.General.InFlight-1, 0
			changed = true
		}
	}
	return changed
}

// down takes a node away, as an Edge shows one whose providers answer no more.
func (s *testSite) down(nodeID string) (known bool) {
	defer func() { s.downed <- struct{}{} }()
	return s.change(func(n *edge.Node) bool {
		if n.ID != nodeID {
			return false
		}
		n.Connected = false
		for i, p := range n.Providers {
			n.Providers[i] = edge.Provider{ID: p.ID, Type: p.Type, Models: p.Models, Status: edge.Unavailable, Health: edge.Offline}
		}
		return true
	})
}

// loadModel takes long enough to be accepted, and tells how far it is.
func loadModel(ctx context.Context, c *edge.Command) (map[string]any, error) {
	for percent := 0; percent < 100; percent += 50 {
		c.Progress(percent, "Reading the weights.")
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return map[string]any{"model": c.Parameters["model"], "gpus": c.Parameters["gpus"]}, nil
}

func fail(context.Context, *edge.Command) (map[string]any, error) {
	return nil, edge.Failed("The weights are gone.")
}
