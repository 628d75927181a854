package httpapi

import (
	"strconv"

	"iop/actors"
)

// events reads the parameters of a list of events.
func (q *query) events() actors.EventQuery {
	return actors.EventQuery{After: q.one("after"), Limit: q.limit()}
}

func (s *Server) edgeEvents(c *call) *problem {
	q := c.query()
	events := q.events()
	if q.problem != nil {
		return q.problem
	}
	if _, _, p := c.edge(); p != nil {
		return p
	}
	events.EdgeID = c.edgeID
	return s.listEvents(c, events)
}

// fleetEvents lists the fleet's events, or streams them where the caller would rather have that.
func (s *Server) fleetEvents(c *call) *problem {
	q := c.query()
	events := q.events()
	if q.problem != nil {
		return q.problem
	}
	if wantsStream(c.r.Header.Values("Accept")) {
		return s.streamEvents(c, events.After)
	}
	return s.listEvents(c, events)
}

func (s *Server) listEvents(c *call, q actors.EventQuery) *problem {
	ctx, cancel := c.soon()
	defer cancel()
	page, fault := s.opts.Plane.Events(ctx, q)
	if fault != nil {
		return asProblem(fault)
	}
	c.render(func(b []byte) []byte { return appendEventPage(b, page) })
	return nil
}

func appendEventPage(b []byte, page actors.EventPage) []byte {
	b = append(b, `{"events":[`...)
	for i, e := range page.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEvent(b, e)
	}
	b = append(b, `],"gap":`...)
	if page.Gap != nil {
		b = appendGap(b, page.Gap)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"next":`...)
	b = appendStringOrNull(b, page.Next)
	return append(b, '}')
}

func appendEvent(b []byte, e *actors.Event) []byte {
	b = append(b, `{"id":"`...)
	b = e.AppendID(b) // letters, digits and '-'
	b = append(b, `","edge_id":`...)
	b = appendStringOrNull(b, e.EdgeID)
	b = append(b, `,"node_id":`...)
	b = appendStringOrNull(b, e.NodeID)
	b = append(b, `,"operation_id":`...)
	b = appendStringOrNull(b, e.OperationID)
	b = append(b, `,"kind":`...)
	b = appendString(b, string(e.Kind))
	b = append(b, `,"message":`...)
	b = appendStringOrNull(b, e.Message)
	b = append(b, `,"at":`...)
	b = appendTime(b, e.At)
	b = append(b, `,"occurred_at":`...)
	b = appendTime(b, e.OccurredAt)
	return append(b, '}')
}

func appendGap(b []byte, g *actors.Gap) []byte {
	b = append(b, `{"dropped":`...)
	if g.Dropped != nil {
		b = strconv.AppendUint(b, *g.Dropped, 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"reason":`...)
	b = appendString(b, string(g.Reason))
	return append(b, '}')
}
