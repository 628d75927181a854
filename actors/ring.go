package actors

import "sort"

// ring keeps the newest events, bounded in number and bytes; the oldest go first and are counted. It grows with use.
type ring struct {
	max, maxBytes int

	events []*Event // circular
	first  int      // where the oldest is
	count  int
	bytes  int

	birth       uint64 // sequence number of the first event it ever had; 0: that of the first of all
	overwritten uint64 // how many are gone
	lastGone    uint64 // sequence number of the newest that is gone
}

// eventBytes is what an event takes beside its texts.
const eventBytes = 240

func (e *Event) bytes() int {
	return eventBytes + len(e.EdgeID) + len(e.NodeID) + len(e.OperationID) + len(e.Message)
}

func (r *ring) add(e *Event) {
	for r.count > 0 && (r.count >= r.max || r.bytes+e.bytes() > r.maxBytes) {
		r.dropOldest()
	}
	if r.count == len(r.events) {
		r.grow()
	}
	r.events[(r.first+r.count)%len(r.events)] = e
	r.count++
	r.bytes += e.bytes()
}

func (r *ring) dropOldest() {
	gone := r.events[r.first]
	r.events[r.first] = nil
	r.first = (r.first + 1) % len(r.events)
	r.count--
	r.bytes -= gone.bytes()
	r.overwritten++
	r.lastGone = gone.Seq
}

func (r *ring) grow() {
	bigger := make([]*Event, min(r.max, max(1, 2*len(r.events))))
	for i := range r.count {
		bigger[i] = r.at(i)
	}
	r.events, r.first = bigger, 0
}

// at gives the i-th event, 0 being the oldest.
func (r *ring) at(i int) *Event { return r.events[(r.first+i)%len(r.events)] }

// from finds the place of the first event after seq: sequence numbers only grow.
func (r *ring) from(seq uint64) int {
	return sort.Search(r.count, func(i int) bool { return r.at(i).Seq > seq })
}

// slice copies at most limit events from place i on.
func (r *ring) slice(i, limit int) []*Event {
	n := min(limit, r.count-i)
	if n <= 0 {
		return nil
	}
	out := make([]*Event, n)
	for k := range out {
		out[k] = r.at(i + k)
	}
	return out
}
