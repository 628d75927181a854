package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What the peer says, once its hello was accepted.

// envelope takes one frame; of a status, also what is kept of it.
func (e *edge) envelope(ctx actor.Context, m *iopv1.Envelope, snapshot *Snapshot) {
	if !e.serves() {
		e.credit.giveBack()
		return
	}
	if m.ReplyTo != 0 {
		e.answer(ctx, m, snapshot)
		return
	}
	switch body := m.Body.(type) {
	case *iopv1.Envelope_EdgeNodeEvent:
		e.nodeEvent(ctx, body.EdgeNodeEvent)
	case *iopv1.Envelope_EdgeCommandEvent:
		e.say(ctx, &said{notice: &commandNotice{body.EdgeCommandEvent, structJSON(body.EdgeCommandEvent.Result)}})
	case *iopv1.Envelope_EdgeCommandResponse: // answers nothing pending, but names its command
		e.lateCommand(ctx, body.EdgeCommandResponse)
	case *iopv1.Envelope_GoAway:
		e.goodbye(ctx, body.GoAway)
	case *iopv1.Envelope_EdgeHelloRequest:
		e.credit.giveBack()
		e.refuse(ctx, faultSecondHello, m.Id)
	default: // a stray Error or Pong among them
		e.credit.giveBack()
		if m.Id != 0 {
			e.link.Send(faultUnimplemented.Envelope(m.Id), "")
		}
	}
}

// say has the registry pass on what the Edge said, if this connection still owns the id. It carries the credit along.
func (e *edge) say(ctx actor.Context, s *said) {
	s.edgeID, s.token, s.credit = e.edgeID, e.token, &e.credit
	ctx.Send(e.sys.registry, s)
}

func (e *edge) answer(ctx actor.Context, m *iopv1.Envelope, snapshot *Snapshot) {
	r, ok := e.pending.take(m.ReplyTo, e.sys.clock.mono())
	if !ok {
		if late := m.GetEdgeCommandResponse(); late != nil {
			e.lateCommand(ctx, late)
		} else {
			e.sys.counters.unmatched.Add(1)
			e.credit.giveBack()
		}
		e.endIfDrained(ctx)
		return
	}
	switch target := r.target.(type) {
	case *statusAsk:
		target.to.deliver(e.statusReply(m, snapshot))
		e.credit.giveBack()
	case commandID:
		e.say(ctx, &said{answer: commandAnswerOf(string(target), m)})
	case *queryCommands:
		e.queryAnswered(ctx, m)
	case *probeOwner:
		if m.GetPong() != nil {
			ctx.Send(e.sys.registry, &ownerAnswered{e.token})
		}
		e.credit.giveBack()
	}
	e.endIfDrained(ctx)
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

func (e *edge) lateCommand(ctx actor.Context, m *iopv1.EdgeCommandResponse) {
	e.say(ctx, &said{answer: lateAnswer(m)})
}

func (e *edge) queryAnswered(ctx actor.Context, m *iopv1.Envelope) {
	response := m.GetEdgeCommandQueryResponse()
	if response == nil { // an Edge that can't be asked: what is unknown stays so
		e.credit.giveBack()
		return
	}
	answered := &queryAnswered{unknown: response.UnknownCommandIds}
	for _, r := range response.Responses {
		answered.answers = append(answered.answers, lateAnswer(r))
	}
	e.say(ctx, &said{query: answered})
}

func lateAnswer(m *iopv1.EdgeCommandResponse) *commandAnswer {
	return &commandAnswer{operationID: m.CommandId, response: m, result: structJSON(m.Result), late: true}
}

var nodeEventKinds = map[iopv1.NodeEventKind]Kind{
	iopv1.NodeEventKind_NODE_EVENT_KIND_READY:            NodeReady,
	iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED:     NodeDisconnected,
	iopv1.NodeEventKind_NODE_EVENT_KIND_PROVIDER_CHANGED: ProviderChanged,
}

// nodeEvent passes on a kind that is known; others are from a newer protocol and have no name here.
func (e *edge) nodeEvent(ctx actor.Context, m *iopv1.EdgeNodeEvent) {
	kind, ok := nodeEventKinds[m.Kind]
	if !ok {
		e.credit.giveBack()
		return
	}
	event := &Event{EdgeID: e.edgeID, NodeID: clip(m.NodeId, maxNameBytes), Kind: kind, Message: clip(m.Message, maxMessageBytes)}
	if m.Message == "" && m.ProviderId != "" {
		event.Message = clip("provider "+m.ProviderId, maxMessageBytes)
	}
	if m.OccurredAt.IsValid() {
		event.OccurredAt = m.OccurredAt.AsTime()
	}
	e.say(ctx, &said{event: event})
}

// goodbye: from now on the Edge is sent no command, those that wait in the link included.
func (e *edge) goodbye(ctx actor.Context, m *iopv1.GoAway) {
	if m.Reason == iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING {
		e.leaving = true
		e.takeBackAll(ctx)
	}
	e.credit.giveBack()
}

var (
	faultSecondHello   = &wire.Fault{Code: wire.FailedPrecondition, Message: "this connection has said hello already"}
	faultUnimplemented = &wire.Fault{Code: wire.Unimplemented, Message: "this side does not serve that message"}
)
