package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"iop/wire"
)

// What Edges say of their commands. The registry has seen to it that the connection owns the id; that the command is that
// Edge's is seen to here.

func (p *operations) said(ctx actor.Context, m *said) {
	defer m.credit.giveBack() // also after a panic: the Edge would be read no more
	switch {
	case m.answer != nil:
		p.answered(ctx, m.edgeID, m.answer)
	case m.notice != nil:
		p.noticed(ctx, m.edgeID, m.notice)
	case m.query != nil:
		p.queried(ctx, m.edgeID, m.query)
	}
}

// theirs finds an entry of this Edge's; nil when there is none.
func (p *operations) theirs(edgeID, id string) *entry {
	if e := p.log.entries[id]; e != nil && e.op.EdgeID == edgeID {
		return e
	}
	return nil
}

func (p *operations) answered(ctx actor.Context, edgeID string, m *commandAnswer) {
	e := p.theirs(edgeID, m.operationID)
	if e == nil || e.op.State.Terminal() {
		if m.late {
			p.sys.counters.unmatched.Add(1)
		}
		return
	}
	now := time.Now()
	var s step
	var fault *wire.Fault
	edgeError := ""
	switch {
	case m.err != nil:
		p.sys.logEdgeError(edgeID, m.err)
		fault, edgeError = faultEdgeError, errorCodeName(m.err.Code)
		s = e.op.onError(m.err.Code, now)
	case m.response == nil:
		p.sys.logNonsense(edgeID)
		fault = faultNonsense
		s = e.op.onUnknown("the Edge's answer does not fit the command", now)
	default:
		if _, known := outcomes[m.response.Outcome]; !known {
			p.sys.logNonsense(edgeID)
			fault = faultNonsense
		}
		s = e.op.onAnswer(m.response.Outcome, clip(m.response.Message, maxMessageBytes), m.result, now)
	}
	if s.next != nil {
		e.flight.fault, e.flight.edgeError = fault, edgeError
		p.apply(ctx, e, s, time.Time{})
	}
}

func (p *operations) noticed(ctx actor.Context, edgeID string, m *commandNotice) {
	e := p.theirs(edgeID, m.event.CommandId)
	if e == nil {
		return
	}
	var occurred time.Time
	if m.event.OccurredAt.IsValid() {
		occurred = m.event.OccurredAt.AsTime()
	}
	if s := e.op.onEvent(m.event, m.result, time.Now()); s.next != nil {
		e.flight.fault, e.flight.edgeError = nil, "" // the Edge has spoken after all
		p.apply(ctx, e, s, occurred)
	}
}
