// Package manage makes a site one that can be operated: its nodes are drained and resumed, its providers disabled and
// enabled, and the requests that go through the Edge are counted as what they are.
//
//	site := manage.New(manage.Options{Site: probed, Leased: leased, Queue: 64})
//	e, err := edge.New(edge.Options{Site: site, Operations: site.Operations(), ...})
//	l, err := site.Pool().Acquire(ctx, "m-small", false)
//
// It stands before another [edge.Site] and shows its nodes as they are, but for three things. A provider whose
// requests go through the Edge (Options.Leased) has the leases and the waiting of the Edge as its numbers; the others keep
// those of their backends. A provider that takes nothing by an order is unavailable, with its health and its numbers
// as they are. And it is busy when its leases reach its capacity.
//
// Orders last as long as the process: after a restart every node is resumed and every provider enabled.
package manage
