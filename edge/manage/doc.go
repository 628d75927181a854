// Package manage adds operations to a site: its nodes can be drained and resumed, its providers disabled and
// enabled, and the requests that go through the Edge are counted.
//
//	site := manage.New(manage.Options{Site: probed, Leased: leased, Queue: 64})
//	e, err := edge.New(edge.Options{Site: site, Operations: site.Operations(), ...})
//	l, err := site.Pool().Acquire(ctx, "m-small", false)
//
// It wraps another [edge.Site] and shows its nodes unchanged, except for three things. A provider whose
// requests go through the Edge (Options.Leased) gets its numbers from the Edge's leases and waiting requests; the others keep
// those of their backends. A provider that was drained or disabled is unavailable; its health and numbers stay as they
// are. And a provider is busy when its leases reach its capacity.
//
// Such orders last as long as the process: after a restart every node is resumed and every provider enabled.
package manage
