package httpapi

import (
	"strconv"

	"iop/actors"
)

var operationStates = []string{
	string(actors.Pending), string(actors.Sent), string(actors.Accepted), string(actors.Running), string(actors.Succeeded),
	string(actors.Failed), string(actors.Rejected), string(actors.Cancelled), string(actors.Expired), string(actors.Unknown),
}

func (q *query) operations() actors.OperationQuery {
	return actors.OperationQuery{
		State:  actors.OperationState(q.oneOf("state", operationStates...)),
		Limit:  q.limit(),
		Before: q.operationCursor(),
	}
}

func (s *Server) edgeOperations(c *call) *problem {
	q := c.query()
	operations := q.operations()
	if q.problem != nil {
		return q.problem
	}
	if _, _, p := c.edge(); p != nil {
		return p
	}
	operations.EdgeID = c.edgeID
	return s.listOperations(c, operations)
}

func (s *Server) fleetOperations(c *call) *problem {
	q := c.query()
	operations := q.operations()
	if q.problem != nil {
		return q.problem
	}
	return s.listOperations(c, operations)
}

func (s *Server) listOperations(c *call, q actors.OperationQuery) *problem {
	ctx, cancel := c.soon()
	defer cancel()
	page, fault := s.opts.Plane.Operations(ctx, q)
	if fault != nil {
		return asProblem(fault)
	}
	c.render(func(b []byte) []byte { return appendOperationPage(b, page) })
	return nil
}

func appendOperationPage(b []byte, page actors.OperationPage) []byte {
	b = append(b, `{"operations":[`...)
	last := ""
	for i, o := range page.Operations {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOperation(b, o)
		last = o.ID
	}
	b = append(b, `],"dropped":`...)
	b = strconv.AppendUint(b, page.Dropped, 10)
	b = append(b, `,"next_cursor":`...)
	if page.More && last != "" {
		b = appendString(b, encodeCursor(operationsCursor, []byte(last)))
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

func (s *Server) showOperation(c *call) *problem {
	if _, _, p := c.edge(); p != nil {
		return p
	}
	ctx, cancel := c.soon()
	defer cancel()
	o, fault := s.opts.Plane.Operation(ctx, c.edgeID, c.r.PathValue("operation_id"))
	if fault != nil {
		return asProblem(fault)
	}
	c.render(func(b []byte) []byte { return appendOperation(b, o) })
	return nil
}

func appendOperation(b []byte, o *actors.Operation) []byte {
	b = append(b, `{"operation_id":`...)
	b = appendString(b, o.ID)
	b = append(b, `,"edge_id":`...)
	b = appendString(b, o.EdgeID)
	b = append(b, `,"operation":`...)
	b = appendString(b, o.Operation)
	b = append(b, `,"node_id":`...)
	b = appendStringOrNull(b, o.NodeID)
	b = append(b, `,"parameters":`...)
	b = appendObjectOrNull(b, o.Parameters)
	b = append(b, `,"reason":`...)
	b = appendStringOrNull(b, o.Reason)
	b = append(b, `,"requested_by":`...)
	b = appendStringOrNull(b, o.RequestedBy)
	b = append(b, `,"request_id":`...)
	b = appendString(b, o.RequestID)
	b = append(b, `,"state":`...)
	b = appendString(b, string(o.State))
	b = append(b, `,"created_at":`...)
	b = appendTime(b, o.CreatedAt)
	b = append(b, `,"sent_at":`...)
	b = appendTime(b, o.SentAt)
	b = append(b, `,"responded_at":`...)
	b = appendTime(b, o.RespondedAt)
	b = append(b, `,"finished_at":`...)
	b = appendTime(b, o.FinishedAt)
	b = append(b, `,"message":`...)
	b = appendStringOrNull(b, o.Message)
	b = append(b, `,"result":`...)
	b = appendObjectOrNull(b, o.Result)
	b = append(b, `,"events":[`...)
	for i := range o.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOperationEvent(b, &o.Events[i])
	}
	b = append(b, `],"events_dropped":`...)
	b = strconv.AppendUint(b, o.EventsDropped, 10)
	return append(b, '}')
}

func appendOperationEvent(b []byte, e *actors.OperationEvent) []byte {
	b = append(b, `{"phase":`...)
	b = appendString(b, e.Phase)
	b = append(b, `,"message":`...)
	b = appendStringOrNull(b, e.Message)
	b = append(b, `,"progress_percent":`...)
	if e.ProgressPercent == 0 && e.Phase != "started" && e.Phase != "progress" {
		b = append(b, "null"...) // only these two state a 0; elsewhere it is what nobody gave
	} else {
		b = strconv.AppendUint(b, uint64(e.ProgressPercent), 10)
	}
	b = append(b, `,"occurred_at":`...)
	b = appendTime(b, e.OccurredAt)
	b = append(b, `,"received_at":`...)
	b = appendTime(b, e.ReceivedAt)
	return append(b, '}')
}
