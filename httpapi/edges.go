package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"iop/actors"
	"iop/wire"
)

// fleet gives the registry's views as they are now.
func (c *call) fleet() (*actors.Fleet, *problem) {
	ctx, cancel := c.soon()
	defer cancel()
	f, fault := c.s.opts.Plane.Fleet(ctx)
	return f, asProblem(fault)
}

// edge finds the Edge of the path.
func (c *call) edge() (*actors.Fleet, *actors.View, *problem) {
	f, p := c.fleet()
	if p != nil {
		return nil, nil, p
	}
	v := f.Get(c.edgeID)
	if v == nil {
		return nil, nil, refuse(wire.EdgeNotFound, "no Edge with this id is known")
	}
	return f, v, nil
}

func (s *Server) showEdge(c *call) *problem {
	f, v, p := c.edge()
	if p != nil {
		return p
	}
	c.render(func(b []byte) []byte { return appendEdge(b, f, v, f.State(v)) })
	return nil
}

// stateCounts counts Edges by state.
type stateCounts struct{ connected, stale, disconnected int }

func (n *stateCounts) add(state actors.State) {
	switch state {
	case actors.Connected:
		n.connected++
	case actors.Stale:
		n.stale++
	default:
		n.disconnected++
	}
}

func (n *stateCounts) total() int { return n.connected + n.stale + n.disconnected }

// appendMembers writes the counts as members of an object that is open.
func (n *stateCounts) appendMembers(b []byte) []byte {
	b = append(b, `"total":`...)
	b = strconv.AppendInt(b, int64(n.total()), 10)
	b = append(b, `,"connected":`...)
	b = strconv.AppendInt(b, int64(n.connected), 10)
	b = append(b, `,"stale":`...)
	b = strconv.AppendInt(b, int64(n.stale), 10)
	b = append(b, `,"disconnected":`...)
	return strconv.AppendInt(b, int64(n.disconnected), 10)
}

// edgeFilter is what a list of Edges asks for.
type edgeFilter struct {
	state  actors.State // empty: any
	labels labels
	prefix string
}

// matches picks an Edge that is in this state.
func (f *edgeFilter) matches(v *actors.View, state actors.State) bool {
	return (f.state == "" || state == f.state) && f.labels.match(v)
}

func (f *edgeFilter) isNone() bool { return f.state == "" && len(f.labels) == 0 && f.prefix == "" }

// countHolds is how long the pages of a list of the whole fleet use an earlier page's count of stale Edges.
const countHolds = 10 * time.Second

// listEdges lists a page of the Edges that match, with the counts of all. The page goes by edge_id, so an Edge that comes or goes
// between two pages moves no other.
func (s *Server) listEdges(c *call) *problem {
	q := c.query()
	filter := &edgeFilter{
		state:  actors.State(q.oneOf("state", string(actors.Connected), string(actors.Stale), string(actors.Disconnected))),
		labels: q.labels(),
		prefix: q.one("prefix"),
	}
	limit, place := q.limit(), q.edgeCursor()
	if q.problem != nil {
		return q.problem
	}
	f, p := c.fleet()
	if p != nil {
		return p
	}
	now := s.instant(f.At)
	if place == nil {
		place = &edgePlace{}
	}
	var counts *stateCounts
	switch {
	case !filter.isNone():
		place.run = 0 // what is counted for it is of no other list
	case place.run == s.run && now-place.at <= int64(countHolds):
		counts = place.countsNow(f)
	default:
		place.run, place.at = s.run, now
	}
	c.render(func(b []byte) []byte { return appendEdgeList(b, f, filter, limit, place, counts) })
	return nil
}

// countsNow goes by what was stale before. As many Edges as there are fewer connected now count as stale ones that have been given up:
// that is what becomes of them first.
func (p *edgePlace) countsNow(f *actors.Fleet) *stateCounts {
	connected := f.LenConnected()
	stale := min(max(0, int(p.stale)-max(0, int(p.connected)-connected)), connected)
	return &stateCounts{connected: connected - stale, stale: stale, disconnected: f.Len() - connected}
}

// edgeBytes is the room that an Edge takes in a list if it says as much of itself as an iop-edge. A page gets its room at once: when it grew
// bit by bit, one of 1,000 took five times as much.
const edgeBytes = 640

// appendEdgeList writes a page that begins after a place. Where no counts are given it goes over all that match, and counts.
func appendEdgeList(b []byte, f *actors.Fleet, filter *edgeFilter, limit int, place *edgePlace, counts *stateCounts) []byte {
	b = slices.Grow(b, min(limit, f.Len())*edgeBytes)
	first := firstAfter(f, filter.prefix, place.last)
	from, count := filter.prefix, counts == nil
	if count {
		counts = &stateCounts{}
	} else {
		from = max(from, place.last)
	}
	listed, last := 0, ""
	begun, more := false, false
	b = append(b, `{"edges":[`...)
	f.From(from, func(v *actors.View) bool {
		if !strings.HasPrefix(v.EdgeID, filter.prefix) {
			return false
		}
		begun = begun || v == first
		state := f.State(v)
		if !filter.matches(v, state) {
			return true
		}
		if count {
			counts.add(state)
		}
		switch {
		case !begun:
		case listed == limit:
			more = true
		default:
			if listed > 0 {
				b = append(b, ',')
			}
			b = appendEdge(b, f, v, state)
			listed, last = listed+1, v.EdgeID
		}
		return count || !more
	})
	b = append(b, `],`...)
	b = counts.appendMembers(b)
	b = append(b, `,"next_cursor":`...)
	if more {
		next := *place
		next.last = last
		if count {
			next.connected, next.stale = uint32(counts.connected+counts.stale), uint32(counts.stale)
		}
		b = appendString(b, next.encode())
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

// firstAfter finds the Edge that comes next after the last one listed, of those whose id is at or after the prefix; nil: there is
// none. A page finds its first one by it, so that counting all Edges reads no id: ids lie elsewhere in memory than the rest.
func firstAfter(f *actors.Fleet, prefix, last string) (first *actors.View) {
	f.From(max(prefix, last), func(v *actors.View) bool {
		if v.EdgeID != last {
			first = v
		}
		return first == nil
	})
	return first
}

// appendEdge writes one Edge. What it never said is null, and so is the end of a connection while it has one. Its state is the one
// that it was picked and counted by: asked again it may be another.
func appendEdge(b []byte, f *actors.Fleet, v *actors.View, state actors.State) []byte {
	b = append(b, `{"edge_id":`...)
	b = appendString(b, v.EdgeID)
	b = append(b, `,"name":`...)
	b = appendStringOrNull(b, v.Name)
	b = append(b, `,"version":`...)
	b = appendStringOrNull(b, v.Version)
	b = append(b, `,"labels":`...)
	b = append(b, '{')
	for key, value := range v.Labels.All() {
		b = appendLabel(b, key, value)
	}
	b = append(b, '}')
	b = append(b, `,"operations":[`...)
	for name := range v.Operations.All() {
		b = appendElement(b, name)
	}
	b = append(b, ']')
	b = append(b, `,"instance_id":`...)
	b = appendStringOrNull(b, v.InstanceID)
	b = append(b, `,"state":`...)
	b = appendString(b, string(state))
	b = append(b, `,"connected":`...)
	b = strconv.AppendBool(b, v.Connected)
	b = append(b, `,"connected_at":`...)
	b = appendTime(b, v.ConnectedAt)
	b = append(b, `,"last_seen_at":`...)
	b = appendTime(b, f.LastSeen(v))
	b = appendLastEnd(b, v)
	b = append(b, `,"connections":`...)
	b = strconv.AppendUint(b, v.Connections, 10)
	b = append(b, `,"takeovers":`...)
	b = strconv.AppendUint(b, v.Takeovers, 10)
	b = append(b, `,"conflict":`...)
	b = strconv.AppendBool(b, f.InConflict(v))
	b = append(b, `,"heartbeat_interval_ms":`...)
	b = appendMillis(b, v.Pulse.Interval())
	b = append(b, `,"clock_skew_ms":`...)
	if skew, known := v.Pulse.Skew(); known {
		b = appendMillis(b, skew)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"snapshot_age_ms":`...)
	if snapshot := v.Pulse.Snapshot(); snapshot != nil {
		b = appendMillis(b, f.Age(snapshot))
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

// lastEnd finds when and why an Edge's connection ended, for a problem that says it has none. had is what the answer said
// of the Edge, nil where it said nothing.
func (c *call) lastEnd(had *actors.View) *actors.View {
	if had != nil {
		return had
	}
	f, p := c.fleet()
	if p != nil {
		return nil
	}
	return f.Get(c.edgeID)
}
