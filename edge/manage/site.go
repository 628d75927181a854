package manage

import (
	"context"
	"slices"
	"sync"
	"time"

	"iop/edge"
	"iop/edge/lease"
)

// tellGap is the least time between two notes that something has changed. Under load leases come and go all the
// time, and a snapshot is pushed once a second at most.
const tellGap = 500 * time.Millisecond

// Options make a Site.
type Options struct {
	// Site is the site to operate. This one's Run calls its Run.
	Site edge.Site
	// Leased tells whether all requests to a provider take a lease first. It may be called from any goroutine; nil: none do.
	Leased func(nodeID, providerID string) bool
	// Queue is how many requests may wait for a lease at once; 0: none.
	Queue int
}

// Site is an edge.Site that can be operated.
type Site struct {
	inner  edge.Site
	leased func(nodeID, providerID string) bool
	pool   *lease.Pool
	moved  chan struct{} // something changed; one note is enough

	telling sync.Mutex
	told    bool             // the pool was told something
	nodes   []string         // what it was told last
	known   []lease.Provider // the same
}

// New makes a Site.
func New(o Options) *Site {
	s := &Site{inner: o.Site, leased: o.Leased, moved: make(chan struct{}, 1)}
	if s.leased == nil {
		s.leased = func(string, string) bool { return false }
	}
	s.pool = lease.New(lease.Options{Queue: o.Queue, Changed: s.note})
	return s
}

// Pool gives out the capacity of the providers that are leased.
func (s *Site) Pool() *lease.Pool { return s.pool }

// Run implements edge.Site.
func (s *Site) Run(ctx context.Context, changed func()) {
	var all sync.WaitGroup
	all.Go(func() { s.inner.Run(ctx, s.note) })
	for ctx.Err() == nil {
		select {
		case <-s.moved:
			s.tellPool()
			changed()
		case <-ctx.Done():
		}
		select {
		case <-time.After(tellGap):
		case <-ctx.Done():
		}
	}
	all.Wait()
}

// Announce implements edge.Announcer for a site that is one.
func (s *Site) Announce(tell func(edge.Announcement)) {
	if a, ok := s.inner.(edge.Announcer); ok {
		a.Announce(tell)
	}
}

func (s *Site) note() {
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// Declared is called after the nodes were declared anew, so that the pool knows them when it returns.
func (s *Site) Declared() { s.tellPool() }

// tellPool gives the pool the nodes and providers as they are now, if that is news.
func (s *Site) tellPool() {
	s.telling.Lock() // what is older must not come to the pool later
	defer s.telling.Unlock()
	var nodes []string
	var now []lease.Provider
	for _, n := range s.inner.Nodes() {
		nodes = append(nodes, n.ID)
		for _, p := range n.Providers {
			now = append(now, s.leasable(n, p))
		}
	}
	if !s.told || !slices.Equal(s.nodes, nodes) || !slices.EqualFunc(s.known, now, equalLeasable) {
		s.told, s.nodes, s.known = true, nodes, now
		s.pool.Set(nodes, now)
	}
}

func (s *Site) leasable(n edge.Node, p edge.Provider) lease.Provider {
	r := lease.Provider{
		Key: lease.Key{Node: n.ID, Provider: p.ID}, General: p.General.Capacity, LongContext: p.LongContext.Capacity,
		Offline: !n.Connected || p.Health == edge.Offline, Suspect: p.Health == edge.Degraded,
	}
	if s.leased(n.ID, p.ID) {
		r.Models = p.Models
	} else {
		r.OrdersOnly = true
	}
	return r
}

func equalLeasable(a, b lease.Provider) bool {
	return a.Key == b.Key && a.General == b.General && a.LongContext == b.LongContext && a.Offline == b.Offline && a.Suspect == b.Suspect &&
		a.OrdersOnly == b.OrdersOnly && (a.Models == nil) == (b.Models == nil) && slices.Equal(a.Models, b.Models)
}

// Nodes implements edge.Site.
func (s *Site) Nodes() []edge.Node {
	loads := s.pool.Loads()
	nodes := slices.Clone(s.inner.Nodes())
	for i, n := range nodes {
		nodes[i].Providers = slices.Clone(n.Providers)
		for j, p := range n.Providers {
			key := lease.Key{Node: n.ID, Provider: p.ID}
			if p.Health == edge.Offline {
				continue // nothing counts there, and the pool hears of it in a moment
			}
			if s.leased(n.ID, p.ID) {
				p = counted(p, loads[key])
			}
			if s.pool.Closed(key) {
				p.Status = edge.Unavailable
			}
			nodes[i].Providers[j] = p
		}
	}
	return nodes
}

// counted is a provider with the Edge's own numbers, which are known whatever its backend tells.
func counted(p edge.Provider, l lease.Load) edge.Provider {
	p.General.InFlight, p.General.Queued = l.InFlight, l.Queued
	p.LongContext.InFlight, p.LongContext.Queued = l.LongInFlight, l.LongQueued
	switch {
	case p.Health == edge.Degraded: // stays unavailable
	case p.General.Capacity > 0 && l.InFlight >= p.General.Capacity:
		p.Status = edge.Busy
	default:
		p.Status = edge.Available
	}
	return p
}
