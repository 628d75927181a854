package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Why there is no lease. Acquire returns these unwrapped.
var (
	// ErrQueueFull: no provider has free capacity, and too many requests wait already.
	ErrQueueFull = errors.New("the queue is full")
	// ErrNoModel: no provider serves this model.
	ErrNoModel = errors.New("no provider serves this model")
	// ErrTooLong: the model is served, but no provider of it has any long-context capacity, nor is one offline that may have some.
	ErrTooLong = errors.New("no provider of this model takes long context")
	// ErrNoProvider: the model's providers take no requests now; or a provider that has not reported its models yet may
	// serve it.
	ErrNoProvider = errors.New("no provider of this model takes requests now")
)

// Why a lease ended before its holder released it: the cause of its context.
var (
	// ErrGone: the provider, or its node, is gone.
	ErrGone = errors.New("the provider is gone")
	// ErrCancelled: somebody cancelled the lease.
	ErrCancelled = errors.New("the run was cancelled")
)

// Key names a provider.
type Key struct{ Node, Provider string }

// Provider is what a pool must know of a provider.
type Provider struct {
	Key
	// Models are those that it serves; nil: not known. If it is Offline and they aren't known, those known before stay.
	Models []string
	// General is how many requests it takes at once; 0: not known, and so not bounded here.
	General uint32
	// LongContext is the same for long context; 0: it takes none, or is Offline.
	LongContext uint32
	// Offline: it is gone for now. Its leases end.
	Offline bool
	// Suspect: it may not be working. It gets one request at a time, and only when no other provider has free capacity:
	// without any request it could never show that it works again.
	Suspect bool
	// OrdersOnly: it takes no leases, and is known so that it can be drained and disabled.
	OrdersOnly bool
}

// Load is what a pool counts for one provider.
type Load struct {
	InFlight, Queued         uint32
	LongInFlight, LongQueued uint32
}

// Options make a Pool.
type Options struct {
	// Queue is how many requests may wait at once, over all models; 0: none. Further ones are refused with ErrQueueFull.
	Queue int
	// Changed is called after every change of what Loads returns, from any goroutine and maybe often; it must not block and
	// must not call the pool. It may be nil.
	Changed func()
}

// Pool is the capacity of a site, its leases and its queue. Use New; the zero value is not usable.
type Pool struct {
	queue   int
	changed func()
	prefix  string // of lease ids: those of an earlier process mean nothing in this one

	mu        sync.Mutex
	nodes     []string
	providers map[Key]*provider
	byModel   map[string][]*provider // by key
	untold    bool                   // there may be models that nobody has told of yet
	drained   map[string]uint64      // nodes, and which of all drains it is
	drains    uint64                 // all that there were
	disabled  map[Key]bool
	live      map[string]*Lease
	granted   uint64
	waiting   []*waiter // who waits longest is first; len is bounded by queue
	pressure  map[class]uint32
}

// class is what a request is of: those of one class can use the same providers.
type class struct {
	model string
	long  bool
}

// waiter is a request that waits. It belongs to the pool's mutex until it is taken out of the queue.
type waiter struct {
	ctx   context.Context
	class class
	ready chan struct{} // closed when lease or err is set
	lease *Lease
	err   error
}

// New makes a pool without providers. Until the first Set it isn't known which models there are.
func New(o Options) *Pool {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Pool{
		queue: o.Queue, changed: o.Changed, prefix: strings.ToLower(rand.Text()[:6]),
		providers: map[Key]*provider{}, byModel: map[string][]*provider{}, untold: true, drained: map[string]uint64{}, disabled: map[Key]bool{},
		live: map[string]*Lease{}, pressure: map[class]uint32{},
	}
}

// Acquire returns a lease on a provider of a model, waiting for one until ctx ends. The lease's context is a child of
// ctx. The error is one of the above, or the cause of ctx's end.
func (p *Pool) Acquire(ctx context.Context, model string, longContext bool) (*Lease, error) {
	c := class{model, longContext}
	p.mu.Lock()
	l, w, err := p.take(ctx, c)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p.changed()
	if l != nil {
		return l, nil
	}
	select {
	case <-w.ready:
		return w.lease, w.err
	case <-ctx.Done():
		p.leave(w)
		return nil, context.Cause(ctx)
	}
}

// take gives a lease at once, or a place in the queue.
func (p *Pool) take(ctx context.Context, c class) (*Lease, *waiter, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	// Whoever waits can't use the capacity that is free, or would have got it: taking it overtakes nobody.
	if best := p.best(c); best != nil {
		return p.grant(ctx, c, best), nil, nil
	}
	if err := p.hopeless(c); err != nil {
		return nil, nil, err
	}
	if len(p.waiting) >= p.queue {
		return nil, nil, ErrQueueFull
	}
	w := &waiter{ctx: ctx, class: c, ready: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.pressure[c]++
	return nil, w, nil
}

// leave takes a waiter whose context has ended out of the queue. It may have been given a lease meanwhile, which goes
// back.
func (p *Pool) leave(w *waiter) {
	p.mu.Lock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.settle(w, nil, context.Canceled)
	}
	p.mu.Unlock()
	if w.lease != nil {
		w.lease.Release()
		return
	}
	p.changed()
}

// settle ends the wait of a waiter that was taken out of the queue.
func (p *Pool) settle(w *waiter, l *Lease, err error) {
	if p.pressure[w.class]--; p.pressure[w.class] == 0 {
		delete(p.pressure, w.class)
	}
	w.lease, w.err = l, err
	close(w.ready)
}

// grant makes a lease on a provider that has free capacity.
func (p *Pool) grant(ctx context.Context, c class, on *provider) *Lease {
	p.granted++
	l := &Lease{ID: leaseID(p.prefix, p.granted), Key: on.Key, Model: c.model, LongContext: c.long, Since: time.Now(), pool: p, on: on}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	*on.count(c.long)++
	p.live[l.ID] = l
	return l
}

// best is the provider for a request of a class, the one with the greatest part of its capacity free, or nil when none has
// any free.
func (p *Pool) best(c class) *provider {
	var best *provider
	for _, candidate := range p.byModel[c.model] {
		if p.hasCapacity(candidate, c.long) && (best == nil || candidate.before(best, c.long)) {
			best = candidate
		}
	}
	return best
}

// hopeless tells why a request of a class has nothing to wait for; nil when it has.
func (p *Pool) hopeless(c class) error {
	candidates := p.byModel[c.model]
	switch {
	case len(candidates) == 0 && p.untold:
		return ErrNoProvider // whoever is told that there is no such model doesn't ask again
	case len(candidates) == 0:
		return ErrNoModel
	}
	// What is offline shows no capacity, and may have some when it is back: a caller who is told that its request is too long
	// doesn't ask again.
	if !slices.ContainsFunc(candidates, func(candidate *provider) bool { return candidate.Offline || candidate.fits(c.long) }) {
		return ErrTooLong
	}
	if !slices.ContainsFunc(candidates, func(candidate *provider) bool { return p.open(candidate) && candidate.fits(c.long) }) {
		return ErrNoProvider
	}
	return nil
}

// serveQueue gives away what capacity is free, in the order of the queue, and sends away whoever has nothing to wait for
// any more.
func (p *Pool) serveQueue() {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if best := p.best(w.class); best != nil {
			p.settle(w, p.grant(w.ctx, w.class, best), nil)
			return true
		}
		if err := p.hopeless(w.class); err != nil {
			p.settle(w, nil, err)
			return true
		}
		return false
	})
}

// serveOne gives the capacity that a lease on one provider left to whoever has waited longest of those who can use it. It is
// serveQueue for the common case, without a look at the other providers: nobody who waits can use what those have free.
func (p *Pool) serveOne(on *provider, long bool) {
	if on.Suspect { // its capacity is one for both classes, and comes after that of others
		p.serveQueue()
		return
	}
	if !p.hasCapacity(on, long) {
		return
	}
	for i, w := range p.waiting {
		if w.class.long == long && slices.Contains(on.Models, w.class.model) {
			p.waiting = slices.Delete(p.waiting, i, i+1)
			p.settle(w, p.grant(w.ctx, w.class, on), nil)
			return
		}
	}
}

// Loads counts the leases and waiting requests of every known provider.
func (p *Pool) Loads() map[Key]Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[Key]Load, len(p.providers))
	for key, on := range p.providers {
		l := Load{InFlight: on.general, LongInFlight: on.longContext}
		if len(p.pressure) > 0 && p.open(on) {
			for _, model := range on.Models {
				if on.fits(false) {
					l.Queued += p.pressure[class{model, false}]
				}
				if on.fits(true) {
					l.LongQueued += p.pressure[class{model, true}]
				}
			}
		}
		all[key] = l
	}
	return all
}
