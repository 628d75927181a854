// Package lease gives out the capacity of a site's providers. A request takes a lease before it goes to a provider and
// gives it back at its end; while no provider has free capacity, it waits in a bounded queue.
//
//	l, err := pool.Acquire(ctx, "m-small", false)
//	if err != nil {
//		...                  // ErrQueueFull, ErrNoModel, ErrNoProvider, or why ctx ended
//	}
//	defer l.Release()
//	serve(l.Context(), l.Key) // its context ends when the provider is gone, or the lease is cancelled
//
// # What it promises
//
// In flight is the number of live leases of a provider, queued the number of waiting requests that it could serve: a
// request waiting for a model that three providers serve counts at all three. Both are counted from the leases and the
// waiting requests themselves, so they can't drift or fall below zero.
//
// Nobody overtakes: free capacity goes to the request that has waited longest of those that can use it. Requests for long
// context take only long-context capacity and others only general capacity, so neither waits for the other.
//
// A lease ends once: by Release, by Cancel, or because its provider is gone. Whichever comes first gives the capacity
// back; the others do nothing.
package lease
