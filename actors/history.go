package actors

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// history is what happened: a ring for the fleet and one for each Edge. It gives events their ids and knows what an id that
// is no longer kept, or never was, means for a reader who comes back with it.
type history struct {
	opts   HistoryOptions
	run    string // tells runs of the process apart
	seq    uint64 // of the newest event
	fleet  ring
	edges  map[string]*ring
	forgot uint64 // seq when an Edge's ring was last forgotten
}

// HistoryOptions bound the rings, in events.
type HistoryOptions struct {
	FleetBuffer int
	EdgeBuffer  int
}

// The rings are bounded in bytes, too, so that long messages can't make them what they weren't meant to be.
const (
	fleetRingBytes = 256 << 20
	edgeRingBytes  = 256 << 10
)

func newHistory(opts HistoryOptions) *history {
	return &history{opts: opts, run: strings.ToLower(ulid.Make().String()),
		fleet: ring{max: opts.FleetBuffer, maxBytes: fleetRingBytes}, edges: map[string]*ring{}}
}

// add gives an event its id and its time, and keeps it. An Edge's ring begins when it connects: what its operations still
// say once it was forgotten is for the fleet's alone, so that no ring stays behind for it.
func (h *history) add(e *Event, now time.Time) {
	h.seq++
	e.Run, e.Seq, e.At = h.run, h.seq, now
	r := h.edges[e.EdgeID]
	if r == nil && e.Kind == EdgeConnected {
		r = &ring{max: h.opts.EdgeBuffer, maxBytes: edgeRingBytes, birth: h.seq}
		h.edges[e.EdgeID] = r
	}
	if r != nil {
		e.place = r.overwritten + uint64(r.count) + 1
		r.add(e)
	}
	h.fleet.add(e)
}

func (h *history) forget(edgeID string) {
	if h.edges[edgeID] != nil {
		delete(h.edges, edgeID)
		h.forgot = h.seq
	}
}

// page lists the newest events or, with After, the first ones after it.
func (h *history) page(q EventQuery) EventPage {
	r := &h.fleet
	if q.EdgeID != "" {
		if r = h.edges[q.EdgeID]; r == nil {
			r = &ring{birth: h.seq + 1}
		}
	}
	page := EventPage{Next: q.After}
	start := max(0, r.count-q.Limit)
	if q.After != "" {
		start, page.Gap = h.resume(r, q.EdgeID, q.After)
	}
	page.Events = r.slice(start, q.Limit)
	if n := len(page.Events); n > 0 {
		page.Next = page.Events[n-1].ID()
	}
	return page
}

// after gives all that the fleet's ring has after an id.
func (h *history) after(id string) ([]*Event, *Gap) {
	start, gap := h.resume(&h.fleet, "", id)
	return h.fleet.slice(start, h.fleet.count), gap
}

// madeUp tells whether no event has this id although its number is still in the ring.
func (h *history) madeUp(id string, seq uint64) bool {
	i := h.fleet.from(seq) - 1
	if i < 0 {
		return false
	}
	e := h.fleet.at(i)
	return e.Seq == seq && e.ID() != id
}

// resume finds where a ring goes on after an id, and what is missing before that.
func (h *history) resume(r *ring, edgeID, id string) (start int, gap *Gap) {
	after, ok := parseEventID(id)
	if !ok || after.run != h.run || after.seq > h.seq || h.madeUp(id, after.seq) {
		return 0, &Gap{Reason: Restarted}
	}
	own := edgeID == "" || after.edge == edgeHash(edgeID)
	gap = &Gap{Reason: Overwritten}
	switch {
	case after.seq < r.birth && (own || after.seq < h.forgot): // this Edge had a ring before this one, or may have had
		return 0, gap
	case r.overwritten == 0 || after.seq >= r.lastGone:
		return r.from(after.seq), nil
	}
	place := after.seq
	if edgeID != "" {
		place = after.place
	}
	if own && place <= r.overwritten { // an id that was made up may say anything
		dropped := r.overwritten - place
		gap.Dropped = &dropped
	}
	return 0, gap
}

// eventID is what an id says to those who made it: the run, the number in the fleet's order, the number among its
// Edge's events, and a hash of that Edge's id, so that a gap can be counted after the event itself is gone.
type eventID struct {
	run   string
	seq   uint64
	place uint64
	edge  uint32
}

func (id eventID) String() string { return string(id.append(nil)) }

func (id eventID) append(b []byte) []byte {
	return fmt.Appendf(b, "%s-%012x-%x-%x", id.run, id.seq, id.place, id.edge)
}

func parseEventID(s string) (id eventID, ok bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 4 {
		return id, false
	}
	id.run = parts[0]
	var err [3]error
	var edge uint64
	id.seq, err[0] = strconv.ParseUint(parts[1], 16, 64)
	id.place, err[1] = strconv.ParseUint(parts[2], 16, 64)
	edge, err[2] = strconv.ParseUint(parts[3], 16, 32)
	id.edge = uint32(edge)
	return id, err == [3]error{}
}

func edgeHash(edgeID string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(edgeID))
	return h.Sum32()
}
