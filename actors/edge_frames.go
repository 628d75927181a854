package actors

import (
	"cmp"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What the peer says, once its hello was accepted.

// envelope takes one frame, and with a status the snapshot that is kept of it. What the registry passes on carries the frame's credit
// along; otherwise the credit is given back here.
func (e *edge) envelope(ctx actor.Context, m *iopv1.Envelope, snapshot *Snapshot) {
	if s := e.take(ctx, m, snapshot); s != nil {
		s.edgeID, s.token, s.credit = e.edgeID, e.token, &e.credit
		ctx.Send(e.sys.registry, s)
	} else {
		e.credit.giveBack()
	}
	e.endIfDrained(ctx) // behind what was said: the end must not overtake it
}

// take acts on a frame, and gives what the registry is to pass on, if this connection still owns the id; nil: nothing.
func (e *edge) take(ctx actor.Context, m *iopv1.Envelope, snapshot *Snapshot) *said {
	switch {
	case !e.serves():
		return nil
	case m.ReplyTo != 0:
		return e.answer(ctx, m, snapshot)
	}
	switch body := m.Body.(type) {
	case *iopv1.Envelope_EdgeNodeEvent:
		return e.nodeEvent(body.EdgeNodeEvent)
	case *iopv1.Envelope_EdgeCommandEvent:
		return &said{notice: &commandNotice{body.EdgeCommandEvent, structJSON(body.EdgeCommandEvent.Result)}}
	case *iopv1.Envelope_EdgeCommandResponse: // answers nothing pending, but names its command
		return &said{answer: lateAnswer("", body.EdgeCommandResponse)}
	case *iopv1.Envelope_GoAway:
		e.goodbye(ctx, body.GoAway)
	case *iopv1.Envelope_EdgeHelloRequest:
		e.refuse(ctx, faultSecondHello, m.Id)
	default: // a stray Error or Pong among them
		if m.Id != 0 {
			e.link.Send(faultUnimplemented.Envelope(m.Id), "")
		}
	}
	return nil
}

func (e *edge) answer(ctx actor.Context, m *iopv1.Envelope, snapshot *Snapshot) *said {
	r, ok := e.pending.take(m.ReplyTo, e.sys.clock.mono())
	if !ok {
		if late := m.GetEdgeCommandResponse(); late != nil {
			id, _ := r.target.(commandID)
			return &said{answer: lateAnswer(string(id), late)}
		}
		e.sys.counters.unmatched.Add(1)
		return nil
	}
	switch target := r.target.(type) {
	case *statusAsk:
		target.to.deliver(e.statusReply(m, snapshot))
	case commandID:
		return &said{answer: commandAnswerOf(string(target), m)}
	case *queryCommands:
		return queryAnswerOf(target, m)
	case *probeOwner: // whatever it says, it lives
		ctx.Send(e.sys.registry, &ownerAnswered{e.token})
	}
	return nil
}

// statusReply keeps the snapshot and makes it a caller's answer. One that names another Edge is nonsense.
func (e *edge) statusReply(m *iopv1.Envelope, snapshot *Snapshot) StatusReply {
	if err := m.GetError(); err != nil {
		e.sys.logEdgeError(e.edgeID, err)
		return StatusReply{Fault: faultEdgeError, EdgeError: errorCodeName(err.Code)}
	}
	if snapshot == nil {
		e.sys.logNonsense(e.edgeID)
		return StatusReply{Fault: faultNonsense}
	}
	e.pulse.keep(snapshot)
	return StatusReply{Snapshot: snapshot, Nodes: m.GetEdgeStatusResponse().Nodes}
}

func commandAnswerOf(operationID string, m *iopv1.Envelope) *commandAnswer {
	a := &commandAnswer{operationID: operationID, err: m.GetError(), response: m.GetEdgeCommandResponse()}
	if a.response != nil && a.response.CommandId != "" && a.response.CommandId != operationID {
		a.response = nil // it answers for another command: nonsense
	}
	a.result = structJSON(a.response.GetResult())
	return a
}

// queryAnswerOf says nothing for an Edge that answers with an Error or with nonsense: what is unknown stays so.
func queryAnswerOf(question *queryCommands, m *iopv1.Envelope) *said {
	response := m.GetEdgeCommandQueryResponse()
	answered := &queryAnswered{question: question, unknown: response.GetUnknownCommandIds()}
	for _, r := range response.GetResponses() {
		id := r.CommandId
		if id == "" && len(question.ids) == 1 {
			id = question.ids[0]
		}
		answered.answers = append(answered.answers, &commandAnswer{operationID: id, response: r, result: structJSON(r.Result)})
	}
	return &said{query: answered}
}

// lateAnswer is for the command that it names; one that names none is for the command that was asked for, where that is known.
func lateAnswer(operationID string, m *iopv1.EdgeCommandResponse) *commandAnswer {
	return &commandAnswer{operationID: cmp.Or(m.CommandId, operationID), response: m, result: structJSON(m.Result), late: true}
}

var nodeEventKinds = map[iopv1.NodeEventKind]Kind{
	iopv1.NodeEventKind_NODE_EVENT_KIND_READY:            NodeReady,
	iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED:     NodeDisconnected,
	iopv1.NodeEventKind_NODE_EVENT_KIND_PROVIDER_CHANGED: ProviderChanged,
}

// nodeEvent passes on a kind that is known; others are from a newer protocol and have no name here.
func (e *edge) nodeEvent(m *iopv1.EdgeNodeEvent) *said {
	kind, ok := nodeEventKinds[m.Kind]
	if !ok {
		return nil
	}
	event := &Event{EdgeID: e.edgeID, NodeID: clip(m.NodeId, maxNameBytes), Kind: kind, Message: clip(m.Message, maxMessageBytes)}
	if m.Message == "" && m.ProviderId != "" {
		event.Message = clip("provider "+m.ProviderId, maxMessageBytes)
	}
	if m.OccurredAt.IsValid() {
		event.OccurredAt = m.OccurredAt.AsTime()
	}
	return &said{event: event}
}

// goodbye: from now on the Edge is sent no command, those that wait in the link included.
func (e *edge) goodbye(ctx actor.Context, m *iopv1.GoAway) {
	if m.Reason == iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING {
		e.leaving = true
		e.takeBackAll(ctx)
	}
}

var (
	faultSecondHello   = &wire.Fault{Code: wire.FailedPrecondition, Message: "this connection has said hello already"}
	faultUnimplemented = &wire.Fault{Code: wire.Unimplemented, Message: "this side does not serve that message"}
)
