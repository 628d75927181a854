// Package lease gives out the room of a site's providers. A request takes a lease before it goes to a provider and
// gives it back at its end; while no provider has room, it waits in a bounded queue.
//
//	l, err := pool.Acquire(ctx, "m-small", false)
//	if err != nil {
//		...                  // ErrQueueFull, ErrNoModel, ErrNoProvider, or why ctx ended
//	}
//	defer l.Release()
//	serve(l.Context(), l.Key) // its context ends when the provider's node goes, or the run is cancelled
//
// # What it promises
//
// In flight is the number of live leases of a provider, queued the number of waiting requests that it could serve: one
// that waits for a model of three providers counts at all three. Both are counted from the leases and the waiting
// themselves, so that neither can be lost or fall below zero.
//
// Nobody overtakes: room goes to whoever has waited longest of those who can use it. Requests for long context
// take long-context room alone and others general room alone, so neither waits for the other.
//
// A lease ends once: by Release, by Cancel, or because its provider is gone. Whichever comes first gives the room
// back; the others do nothing.
package lease
