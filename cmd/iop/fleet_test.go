package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"iop/edge"
	"iop/internal/testkit/testdaemon"
	"iop/load/daemon"
)

// testFleet is a real daemon and real Edges, whose sites stand still until a command changes them.
type testFleet struct {
	daemon *daemon.Daemon
	edges  map[string]*testEdge
}

func (f *testFleet) start(args ...string) (err error) {
	f.edges = map[string]*testEdge{}
	f.daemon, err = testdaemon.Run(nil, append([]string{"--log-level", "error"}, args...)...)
	return err
}

// restart crashes the daemon and starts it anew at the same addresses; the Edges come back by themselves.
func (f *testFleet) restart() error {
	f.daemon.Kill()
	return f.daemon.Again()
}

func (f *testFleet) setenv(set func(name, value string)) {
	set("IOP_ADDR", "http://"+f.daemon.Addresses().HTTP)
	set("WIRE", "ws://"+f.daemon.Addresses().Wire+"/client")
}

func (f *testFleet) stop() {
	for id := range f.edges {
		f.leave(id)
	}
	if f.daemon != nil {
		f.daemon.Close()
	}
}

// testEdge is a running Edge.
type testEdge struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

func (f *testFleet) connect(id string, labels map[string]string) error {
	s := newTestSite()
	e, err := edge.New(edge.Options{ID: id, Name: "Site " + id, Version: "1.2.3", Labels: labels, Address: f.daemon.Addresses().EdgeWire, Site: s,
		Operations: map[string]edge.Operation{"node.drain": s.drain, "node.restart": restart, "model.load": s.load, "fail": fail},
		Logger:     slog.New(slog.DiscardHandler), ReconnectInitial: 10 * time.Millisecond, ReconnectMax: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := &testEdge{stop: cancel}
	running.done.Go(func() { _ = e.Run(ctx) })
	f.edges[id] = running
	return nil
}

// leave has an Edge say goodbye.
func (f *testFleet) leave(id string) {
	e := f.edges[id]
	if e == nil {
		return
	}
	e.stop()
	e.done.Wait()
	delete(f.edges, id)
}

// testSite has two nodes: gpu-1 with two providers, gpu-2 with one.
type testSite struct {
	changed chan struct{}

	mu    sync.Mutex
	nodes []edge.Node
}

func newTestSite() *testSite {
	provider := func(id string, model string, c edge.Counters) edge.Provider {
		return edge.Provider{ID: id, Type: "vllm", Models: []string{model}, Status: edge.Available, Health: edge.Online, General: c}
	}
	return &testSite{changed: make(chan struct{}, 1), nodes: []edge.Node{
		{ID: "gpu-1", Name: "h100 machine", Labels: map[string]string{"gpu": "h100"}, Connected: true, Providers: []edge.Provider{
			provider("vllm-0", "qwen3-32b", edge.Counters{Capacity: 8, InFlight: 3}), provider("vllm-1", "gemma-3-27b-it", edge.Counters{Capacity: 4, InFlight: 4, Queued: 2})}},
		{ID: "gpu-2", Name: "l40s machine", Labels: map[string]string{"gpu": "l40s"}, Connected: true, Providers: []edge.Provider{
			provider("vllm-0", "qwen3-32b", edge.Counters{Capacity: 2})}},
	}}
}

func (s *testSite) Nodes() []edge.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

func (s *testSite) Run(ctx context.Context, changed func()) {
	changed()
	for {
		select {
		case <-s.changed:
			changed()
		case <-ctx.Done():
			return
		}
	}
}

// drain takes a node out of service.
func (s *testSite) drain(_ context.Context, c *edge.Command) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.nodes, func(n edge.Node) bool { return n.ID == c.NodeID })
	if i < 0 {
		return nil, edge.Rejected("This Edge has no node with that id.")
	}
	s.nodes = slices.Clone(s.nodes)
	s.nodes[i].Connected = false
	s.changed <- struct{}{}
	return nil, nil
}

// load takes long enough to be accepted, and tells how far it is.
func (s *testSite) load(ctx context.Context, c *edge.Command) (map[string]any, error) {
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

func restart(context.Context, *edge.Command) (map[string]any, error) { return nil, nil } // done before anybody has looked

func fail(context.Context, *edge.Command) (map[string]any, error) {
	return nil, edge.Failed("The weights are gone.")
}
