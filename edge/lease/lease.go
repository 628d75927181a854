package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Lease is the right to have one request at one provider.
type Lease struct {
	// ID is unique over pools.
	ID string
	Key
	Model       string
	LongContext bool
	Since       time.Time

	pool   *Pool
	on     *provider
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  bool // the pool's mutex guards it
}

func leaseID(prefix string, n uint64) string { return fmt.Sprintf("lease-%s-%d", prefix, n) }

// Context is for whatever the lease is used for. It ends with the context given to Acquire, with Release, and with the
// causes ErrGone and ErrCancelled.
func (l *Lease) Context() context.Context { return l.ctx }

// Release gives the capacity back. It may be called more than once and from anywhere; the first end counts.
func (l *Lease) Release() { l.pool.finish(l, context.Canceled) }

// finish ends a lease, tells its holder why, and gives its capacity to whoever waits. It is false when it had ended before.
func (p *Pool) finish(l *Lease, why error) bool {
	p.mu.Lock()
	ended := p.end(l)
	if ended {
		p.serveOne(l.on, l.LongContext)
	}
	p.mu.Unlock()
	l.cancel(why)
	if ended {
		p.changed()
	}
	return ended
}

// end takes a lease off the books, once.
func (p *Pool) end(l *Lease) bool {
	if l.ended {
		return false
	}
	l.ended = true
	*l.on.count(l.LongContext)--
	delete(p.live, l.ID)
	return true
}

// Cancel ends a lease by its id: its holder's context ends with ErrCancelled. It returns nil when there is no such lease.
func (p *Pool) Cancel(id string) *Lease {
	p.mu.Lock()
	l := p.live[id]
	p.mu.Unlock()
	if l == nil || !p.finish(l, ErrCancelled) {
		return nil
	}
	return l
}

// Live returns the leases that are held now, the oldest first.
func (p *Pool) Live() []*Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	live := make([]*Lease, 0, len(p.live))
	for _, l := range p.live {
		live = append(live, l)
	}
	slices.SortFunc(live, func(a, b *Lease) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return live
}
