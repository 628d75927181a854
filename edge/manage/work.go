package manage

import (
	"slices"
	"time"

	"iop/edge"
)

// work is what runs at a node, as far as it is known: of a provider whose requests go through the Edge by its leases, of
// another by the load that its backend tells. What isn't known isn't nothing.
type work struct {
	requests uint64
	untold   []string // providers that tell no load at all
	unheard  []string // providers that have told none since the time that counts; or the node itself, if it has told of no provider
}

// workAt looks at a node; declared is false when there is none any more. That a load is 0 counts when it was asked for since
// then.
func (s *Site) workAt(nodeID string, since time.Time) (w work, declared bool) {
	for key, l := range s.pool.Loads() { // of the pool's own providers: one that isn't declared any more has its leases for a moment still
		if key.Node == nodeID {
			w.requests += uint64(l.InFlight) + uint64(l.LongInFlight)
		}
	}
	nodes := s.inner.Nodes() // Nodes shows the status of what is drained as unavailable
	i := slices.IndexFunc(nodes, func(n edge.Node) bool { return n.ID == nodeID })
	if i < 0 {
		return w, false
	}
	n := nodes[i]
	if n.Announced && !n.Connected && len(n.Providers) == 0 {
		w.unheard = append(w.unheard, n.ID)
	}
	for _, p := range n.Providers {
		if !s.leased(n.ID, p.ID) {
			w.add(p, since)
		}
	}
	return w, true
}

// add counts what runs at a provider by its load.
func (w *work) add(p edge.Provider, since time.Time) {
	requests := requestsAt(p)
	w.requests += requests
	switch {
	case requests > 0:
	case p.LoadAt.IsZero() && p.Health != edge.Offline && p.Status != "":
		w.untold = append(w.untold, p.ID)
	case p.LoadAt.Before(since): // as a load of no time is, which may be told yet
		w.unheard = append(w.unheard, p.ID)
	}
}

func requestsAt(p edge.Provider) uint64 {
	return uint64(p.General.InFlight) + uint64(p.LongContext.InFlight)
}

// none tells whether it is known that nothing runs.
func (w work) none() bool { return w.requests == 0 && len(w.untold) == 0 && len(w.unheard) == 0 }

// hopeless tells whether waiting would tell no more.
func (w work) hopeless() bool { return w.requests == 0 && len(w.untold) > 0 && len(w.unheard) == 0 }

// unknown are the providers of which it isn't known what runs there.
func (w work) unknown() (ids []any) {
	for _, id := range w.untold {
		ids = append(ids, id)
	}
	for _, id := range w.unheard {
		ids = append(ids, id)
	}
	return ids
}

// word says it in a sentence.
func (w work) word() string {
	if w.requests == 0 {
		return "It isn't known yet what runs."
	}
	return stillRun(w.requests)
}
