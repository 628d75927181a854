package httpapi

import (
	"slices"
	"strconv"
	"time"

	"iop/actors"
	"iop/wire"
)

// defaultFleetAge is how old a snapshot may be to be added up. It is long enough that the pushes of a quiet fleet
// answer for it and nobody is asked.
const defaultFleetAge = 15 * time.Second

// instant is a moment by the monotonic clock, as cursors carry it.
func (s *Server) instant(t time.Time) int64 { return int64(t.Sub(s.base)) }

// gathered is a fleet with those snapshots in it that are acceptable.
type gathered struct {
	s      *Server
	fleet  *actors.Fleet
	labels labels
	since  int64                // snapshots received at or after this instant are acceptable
	asked  []string             // the Edges that this request asked, in order of edge_id
	faults map[string]wire.Code // of those of them that gave none
}

// gatherFleet asks the Edges whose snapshots are too old, all at once, and gives the fleet afterwards. What is acceptable is
// decided by the moment it began: a snapshot that was young enough then was not asked for again.
func (s *Server) gatherFleet(c *call, labels labels, maxAge, timeout time.Duration) (*gathered, *problem) {
	began := s.instant(time.Now())
	ctx, cancel := c.within(timeout)
	defer cancel()
	reply, fault := s.opts.Plane.Gather(ctx, labels.match, maxAge, timeout)
	if fault != nil {
		return nil, asProblem(fault)
	}
	return &gathered{s: s, fleet: reply.Fleet, labels: labels, since: began - int64(maxAge), asked: reply.Asked, faults: reply.Faults}, nil
}

// acceptable is an Edge's snapshot if it counts, else nil: unknown is not zero.
func (n *gathered) acceptable(v *actors.View) *actors.Snapshot {
	snapshot := v.Pulse.Snapshot()
	if snapshot == nil || n.s.instant(snapshot.ReceivedAt) < n.since {
		return nil
	}
	return snapshot
}

// answers tells whether an Edge was asked by this request and gave its snapshot. One that pushed it meanwhile did not.
func (n *gathered) answers(edgeID string) bool {
	_, asked := slices.BinarySearch(n.asked, edgeID)
	_, failed := n.faults[edgeID]
	return asked && !failed
}

// fault is why an Edge has no acceptable snapshot.
func (n *gathered) fault(v *actors.View) wire.Code {
	if code, ok := n.faults[v.EdgeID]; ok {
		return code
	}
	if v.Connected {
		return wire.EdgeTimeout
	}
	return wire.EdgeDisconnected
}

// each visits all Edges that match, in order of edge_id.
func (n *gathered) each(visit func(v *actors.View, acceptable *actors.Snapshot)) {
	n.fleet.From("", func(v *actors.View) bool {
		if n.labels.match(v) {
			visit(v, n.acceptable(v))
		}
		return true
	})
}

// tally adds up what was gathered.
type tally struct {
	edges                stateCounts
	answered, unanswered int
	fresh, stale         actors.Totals
	oldest               time.Duration // -1 while nothing is added up
}

func newTally() tally { return tally{oldest: -1} }

func (t *tally) count(f *actors.Fleet, v *actors.View, acceptable *actors.Snapshot) {
	t.edges.add(f.State(v))
	if acceptable == nil {
		t.unanswered++
		return
	}
	t.answered++
	t.oldest = max(t.oldest, f.Age(acceptable))
	if v.Connected {
		t.fresh.Add(acceptable.Totals)
	} else {
		t.stale.Add(acceptable.Totals)
	}
}

// appendMembers writes the totals as members of an object that is open.
func (t *tally) appendMembers(b []byte, at time.Time) []byte {
	b = append(b, `"at":`...)
	b = appendTime(b, at)
	b = append(b, `,"edges":{`...)
	b = t.edges.appendMembers(b)
	b = append(b, `},"answered":`...)
	b = strconv.AppendInt(b, int64(t.answered), 10)
	b = append(b, `,"unanswered":`...)
	b = strconv.AppendInt(b, int64(t.unanswered), 10)
	b = append(b, `,"fresh":`...)
	b = appendTotals(b, &t.fresh)
	b = append(b, `,"stale":`...)
	b = appendTotals(b, &t.stale)
	b = append(b, `,"oldest_age_ms":`...)
	if t.oldest < 0 {
		return append(b, "null"...)
	}
	return appendMillis(b, t.oldest)
}

func appendTotals(b []byte, t *actors.Totals) []byte {
	b = append(b, `{"edges":`...)
	b = strconv.AppendInt(b, int64(t.Edges), 10)
	b = append(b, `,"nodes":`...)
	b = strconv.AppendInt(b, int64(t.Nodes), 10)
	b = append(b, `,"nodes_connected":`...)
	b = strconv.AppendInt(b, int64(t.NodesConnected), 10)
	b = append(b, `,"providers":`...)
	b = strconv.AppendInt(b, int64(t.Providers), 10)
	b = append(b, `,"providers_available":`...)
	b = strconv.AppendInt(b, int64(t.ProvidersAvailable), 10)
	b = append(b, `,"general":`...)
	b = appendCapacity(b, &t.General)
	b = append(b, `,"long_context":`...)
	b = appendCapacity(b, &t.LongContext)
	return append(b, '}')
}

func appendCapacity(b []byte, c *actors.Capacity) []byte {
	b = append(b, `{"capacity":`...)
	b = strconv.AppendUint(b, c.Capacity, 10)
	b = append(b, `,"in_flight":`...)
	b = strconv.AppendUint(b, c.InFlight, 10)
	b = append(b, `,"queued":`...)
	b = strconv.AppendUint(b, c.Queued, 10)
	b = append(b, `,"free":`...)
	b = strconv.AppendUint(b, c.Free, 10)
	return append(b, '}')
}

// askedFleet reads the parameters that fleet views share and gathers.
func (s *Server) askedFleet(c *call) (*gathered, *problem) {
	q := c.query()
	labels, timeout, maxAge := q.labels(), q.timeout(), q.fleetAge()
	if q.problem != nil {
		return nil, q.problem
	}
	return s.gatherFleet(c, labels, maxAge, timeout)
}

func (q *query) fleetAge() time.Duration {
	if d, given := q.maxAge(); given {
		return d
	}
	return defaultFleetAge
}

// fleetSummary answers with only the totals.
func (s *Server) fleetSummary(c *call) *problem {
	n, p := s.askedFleet(c)
	if p != nil {
		return p
	}
	t := newTally()
	n.each(func(v *actors.View, acceptable *actors.Snapshot) { t.count(n.fleet, v, acceptable) })
	c.render(func(b []byte) []byte {
		b = append(b, '{')
		b = t.appendMembers(b, n.fleet.At)
		return append(b, '}')
	})
	return nil
}
