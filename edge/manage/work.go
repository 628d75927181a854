package manage

import (
	"time"

	"iop/edge"
)

// work is what runs at a node, as far as it is known: of a provider whose requests go through the Edge by its leases, of
// another by the load that its backend tells. What isn't known isn't nothing.
type work struct {
	requests uint64
	untold   []string // providers that tell no load at all
	unheard  []string // providers that have told none since the time that counts
}

// workAt looks at a node. That a load is 0 counts when it was asked for since then.
func (s *Site) workAt(nodeID string, since time.Time) (w work) {
	for _, n := range s.Nodes() {
		if n.ID != nodeID {
			continue
		}
		for _, p := range n.Providers {
			w.requests += requestsAt(p)
			switch {
			case s.leased(n.ID, p.ID), requestsAt(p) > 0:
			case n.Announced && !n.Connected: // its agent has gone, which ends nothing that runs there
				w.unheard = append(w.unheard, p.ID)
			case p.Health == edge.Offline:
			case p.LoadAt.IsZero():
				w.untold = append(w.untold, p.ID)
			case p.LoadAt.Before(since):
				w.unheard = append(w.unheard, p.ID)
			}
		}
	}
	return w
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
