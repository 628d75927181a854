package edge

import (
	"sort"
	"time"

	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// take acts on one message from the Control Plane.
func (s *serving) take(e *iopv1.Envelope, now time.Time) {
	if !s.abortBy.IsZero() {
		return // finished: what still comes is not acted on
	}
	s.beat.frame(now)
	if pong := e.GetPong(); pong != nil {
		s.takePong(e.ReplyTo, pong, now)
		return
	}
	if e.ReplyTo != 0 {
		return // an answer, and this side asks nothing but pings
	}
	if e.Id == 0 && isQuestion(e) {
		return // nobody waits; a snapshot without reply_to would be a push, and those have a pace
	}
	switch body := e.Body.(type) {
	case *iopv1.Envelope_Ping:
		s.conn.send(&iopv1.Envelope{ReplyTo: e.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{SentAt: body.Ping.SentAt}}})
	case *iopv1.Envelope_EdgeStatusRequest:
		s.takeStatusRequest(e.Id, now)
	case *iopv1.Envelope_EdgeCommandRequest:
		s.edge.commands.request(s.conn, e.Id, body.EdgeCommandRequest)
	case *iopv1.Envelope_EdgeCommandQueryRequest:
		s.takeQuery(e.Id, body.EdgeCommandQueryRequest)
	case *iopv1.Envelope_GoAway:
		s.takeGoAway(body.GoAway, now)
	case *iopv1.Envelope_Error:
		s.conn.ended("The Control Plane ended the connection (" + text.Name(body.Error.Code, "ERROR_CODE_") + "): " + clip(body.Error.Message))
	default:
		s.refuseUnknown(e.Id)
	}
}

func isQuestion(e *iopv1.Envelope) bool {
	return e.GetEdgeStatusRequest() != nil || e.GetEdgeCommandQueryRequest() != nil
}

// takePong puts a new interval in force. Only the answer to the last Ping tells the server's time, because only of
// that one it is known how long it took.
func (s *serving) takePong(replyTo uint64, pong *iopv1.Pong, now time.Time) {
	if pong.HeartbeatInterval != nil {
		s.beat.setInterval(pong.HeartbeatInterval.AsDuration(), now)
	}
	if replyTo != s.ping.id || s.ping.at.IsZero() {
		return
	}
	if pong.ServerTime.IsValid() {
		s.edge.clock.read(s.ping.at, now, pong.ServerTime.AsTime())
	}
	s.ping.at = time.Time{} // a second answer to one Ping is not an answer
}

func (s *serving) takeStatusRequest(id uint64, now time.Time) {
	why := "The snapshot is over the frame limit."
	if answer := s.snapshot(id, s.edge.opts.Site.Nodes(), now); answer != nil {
		if s.conn.trySend(answer) != wire.Full {
			return
		}
		why = "Too much waits to be sent already."
	}
	fault := &wire.Fault{Code: wire.ResourceExhausted, Message: why}
	s.conn.send(fault.Envelope(id))
}

func (s *serving) takeQuery(id uint64, q *iopv1.EdgeCommandQueryRequest) {
	s.edge.commands.query(q.CommandIds, func(all *iopv1.EdgeCommandQueryResponse) {
		fits := func(r *iopv1.EdgeCommandQueryResponse) bool { return s.conn.fits(queryAnswer(id, r)) }
		if some := whatFits(all, fits); some != nil {
			s.conn.send(queryAnswer(id, some))
			return
		}
		fault := &wire.Fault{Code: wire.ResourceExhausted, Message: "The answer is over the frame limit; ask after fewer commands."}
		s.conn.send(fault.Envelope(id))
	})
}

// whatFits leaves whole outcomes out of an answer that is too large, to be asked for again; without its result alone it would be taken for
// the outcome. Only a single outcome, for which there will never be more room, goes without. Nil when nothing fits.
func whatFits(all *iopv1.EdgeCommandQueryResponse, fits func(*iopv1.EdgeCommandQueryResponse) bool) *iopv1.EdgeCommandQueryResponse {
	first := func(n int) *iopv1.EdgeCommandQueryResponse {
		return &iopv1.EdgeCommandQueryResponse{Responses: all.Responses[:n], UnknownCommandIds: all.UnknownCommandIds}
	}
	if len(all.Responses) == 1 && len(all.UnknownCommandIds) == 0 && !fits(all) {
		all = &iopv1.EdgeCommandQueryResponse{Responses: []*iopv1.EdgeCommandResponse{withoutResult(all.Responses[0])}}
		if !fits(all) {
			return nil
		}
	}
	n := sort.Search(len(all.Responses)+1, func(n int) bool { return !fits(first(n)) })
	if n == 0 {
		return nil
	}
	return first(n - 1)
}

func queryAnswer(id uint64, r *iopv1.EdgeCommandQueryResponse) *iopv1.Envelope {
	return &iopv1.Envelope{ReplyTo: id, Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: r}}
}

// takeGoAway remembers when to come back, and stays for what is pending until the Control Plane closes.
func (s *serving) takeGoAway(g *iopv1.GoAway, now time.Time) {
	s.end = *controlPlane.GoneAway(g, now)
	if s.leaveBy.IsZero() {
		s.leaveBy = now.Add(goAwayTime)
	}
}

// refuseUnknown answers what this side doesn't know or doesn't serve.
func (s *serving) refuseUnknown(id uint64) {
	if id == 0 {
		return
	}
	fault := &wire.Fault{Code: wire.Unimplemented, Message: "This Edge doesn't know that message."}
	s.conn.send(fault.Envelope(id))
}
