package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"iop/edge"
	"iop/edge/manage"
)

// site is a made-up edge.Site: a world that takes a step every tick.
type site struct {
	tick time.Duration

	mu    sync.Mutex
	world *world
	nodes []edge.Node // as told; replaced, never changed in place
}

func newSite(chance *rand.Rand, tick time.Duration) *site {
	w := newWorld(chance)
	return &site{tick: tick, world: w, nodes: w.view()}
}

// Nodes implements edge.Site.
func (s *site) Nodes() []edge.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

// Run implements edge.Site.
func (s *site) Run(ctx context.Context, changed func()) {
	changed()
	ticks := time.NewTicker(s.tick)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			s.change((*world).step)
			changed()
		case <-ctx.Done():
			return
		}
	}
}

func (s *site) change(how func(*world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s.world)
	s.nodes = s.world.view()
}

// operations are the demo's own commands.
func (s *site) operations() map[string]edge.Operation {
	return map[string]edge.Operation{
		"model.load": s.loadModel, "node.restart": s.restartNode, "node.drain": s.drainNode, "node.resume": s.resumeNode,
	}
}

// loadModel takes a few ticks and then has the first provider of the node serve one more model.
func (s *site) loadModel(ctx context.Context, c *edge.Command) (map[string]any, error) {
	if err := manage.OnlyParameters(c, "model"); err != nil {
		return nil, err
	}
	model, _ := c.Parameters["model"].(string)
	if model == "" || len(model) > 100 {
		return nil, edge.Rejected(`The parameters need a "model": its name.`)
	}
	if err := s.needNode(c.NodeID); err != nil {
		return nil, err
	}
	const steps = 5
	for i := range steps {
		c.Progress(i*100/steps, "Reading the weights.")
		select {
		case <-time.After(s.tick):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	loaded := ""
	s.change(func(w *world) { loaded = w.load(c.NodeID, model) })
	if loaded == "" {
		return nil, edge.Failed("The node went away while the model was loaded.")
	}
	return map[string]any{"model": model, "provider_id": loaded}, nil
}

// restartNode is done at once; the node is gone for a while.
func (s *site) restartNode(_ context.Context, c *edge.Command) (map[string]any, error) {
	if err := manage.OnlyParameters(c); err != nil {
		return nil, err
	}
	if err := s.needNode(c.NodeID); err != nil {
		return nil, err
	}
	s.change(func(w *world) { w.restart(c.NodeID) })
	return nil, nil
}

// drainNode waits until nothing runs at the node; it stays drained however that ends.
func (s *site) drainNode(ctx context.Context, c *edge.Command) (map[string]any, error) {
	if err := manage.OnlyParameters(c, "deadline_seconds"); err != nil {
		return nil, err
	}
	deadline, err := manage.DrainDeadline(c)
	if err != nil {
		return nil, err
	}
	known, began := false, time.Now()
	s.change(func(w *world) { known = w.drain(c.NodeID, true) })
	if !known {
		return nil, noSuchNode
	}
	most := uint32(1)
	for {
		left, drained := uint32(0), false
		s.change(func(w *world) { left, drained = w.running(c.NodeID) })
		switch {
		case !drained:
			return nil, edge.Failed("The node was resumed before it was empty.")
		case left == 0:
			return map[string]any{"node_id": c.NodeID, "in_flight": 0, "waited_seconds": time.Since(began).Seconds()}, nil
		case time.Since(began) >= deadline:
			return nil, edge.Failed(fmt.Sprintf("Requests that still run after %v: %d.", deadline, left))
		}
		most = max(most, left)
		c.Progress(int(100*(most-left)/most), fmt.Sprintf("Requests that still run: %d.", left))
		select {
		case <-time.After(s.tick):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *site) resumeNode(_ context.Context, c *edge.Command) (map[string]any, error) {
	if err := manage.OnlyParameters(c); err != nil {
		return nil, err
	}
	known := false
	s.change(func(w *world) { known = w.drain(c.NodeID, false) })
	if !known {
		return nil, noSuchNode
	}
	return map[string]any{"node_id": c.NodeID}, nil
}

var noSuchNode = edge.Rejected("This Edge has no node with that id.")

func (s *site) needNode(id string) error {
	nodes := s.Nodes()
	i := slices.IndexFunc(nodes, func(n edge.Node) bool { return n.ID == id })
	switch {
	case i < 0:
		return noSuchNode
	case !nodes[i].Connected:
		return edge.Rejected("The node is not connected.")
	}
	return nil
}
