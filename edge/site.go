package edge

import "context"

// Site is what an Edge reports: its nodes and their providers.
type Site interface {
	// Nodes returns all nodes as they are now. It is cheap, may be called from any goroutine, and neither side ever changes
	// what it returned.
	Nodes() []Node

	// Run runs the site until ctx ends, and returns soon after. It calls changed once when Nodes is worth reporting for
	// the first time, and then after every change of what Nodes returns. changed doesn't block and may be called from any
	// goroutine; calls close to each other count as one.
	Run(ctx context.Context, changed func())
}

// noSite is the Edge that has nothing to tell.
type noSite struct{}

func (noSite) Nodes() []Node { return nil }

func (noSite) Run(_ context.Context, changed func()) { changed() }
