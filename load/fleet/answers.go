package fleet

import (
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/load/ledger"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// status answers a status request as the Edge behaves.
func (e *edge) status(id uint64, question time.Duration) {
	switch e.behaviour {
	case Late:
		life := e.life
		e.later(e.delay, func() {
			if e.life == life {
				e.shard.f.stats.strays.Add(1)
				e.answerStatus(id, question)
			}
		})
	case Wrong:
		e.answerWrongly(id)
	default:
		e.answerStatus(id, question)
	}
}

func (e *edge) answerStatus(id uint64, question time.Duration) {
	now := time.Now()
	stamp := e.shard.f.opts.Ledger.Answer(e.number, question)
	e.send(&iopv1.Envelope{ReplyTo: id, Body: &iopv1.Envelope_EdgeStatusResponse{
		EdgeStatusResponse: e.shard.f.model.snapshot(e.id, e.number, e.step(now), now, stamp)}})
}

// answerWrongly does in turn what an Edge may not do: say no, speak of another Edge, speak of something else, answer what
// was never asked.
func (e *edge) answerWrongly(id uint64) {
	now := time.Now()
	snapshot := e.shard.f.model.snapshot(e.id, e.number, e.step(now), now, "")
	m := &iopv1.Envelope{ReplyTo: id, Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: snapshot}}
	switch id % 4 {
	case 0:
		m = (&wire.Fault{Code: wire.Internal, Message: "made up by a load run"}).Envelope(id)
	case 1:
		snapshot.EdgeId += "x"
	case 2:
		m.Body = &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}
	case 3:
		m.ReplyTo = id + 1_000_000
		e.shard.f.stats.strays.Add(1)
	}
	e.send(m)
}

// command runs a command, or tells what became of it if it came before.
func (e *edge) command(id uint64, m *iopv1.EdgeCommandRequest) {
	if at := m.ExpiresAt; at.IsValid() && time.Now().Add(e.skew).After(at.AsTime()) {
		e.respond(id, m.CommandId, "", iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED, "it came after its time")
		return
	}
	nonce := m.Parameters.GetFields()[NonceKey].GetStringValue()
	outcome := iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED
	if m.Operation == OperationPhased {
		outcome = iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED
	}
	before, verdict := e.shard.f.opts.Ledger.Arrived(e.number, m.CommandId, nonce)
	switch verdict {
	case ledger.Foreign:
		e.respond(id, m.CommandId, "", iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED, "it has no nonce of this load run")
		return
	case ledger.Repeated:
		outcome = before
	case ledger.Fresh:
		e.shard.f.stats.commands.Add(1)
		if outcome == iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED {
			e.nextPhase(&phased{commandID: m.CommandId, nonce: nonce})
		}
	}
	e.respondAsItBehaves(id, m.CommandId, nonce, outcome)
}

func (e *edge) respondAsItBehaves(id uint64, commandID, nonce string, outcome iopv1.CommandOutcome) {
	switch e.behaviour {
	case Late:
		life := e.life
		e.later(e.delay, func() {
			if e.life == life {
				e.respond(id, commandID, nonce, outcome, "")
			}
		})
	case Wrong:
		e.send((&wire.Fault{Code: wire.Internal, Message: "made up by a load run"}).Envelope(id))
	default:
		e.respond(id, commandID, nonce, outcome, "")
	}
}

func (e *edge) respond(id uint64, commandID, nonce string, outcome iopv1.CommandOutcome, message string) {
	e.tell(nonce, outcome)
	e.send(&iopv1.Envelope{ReplyTo: id, Body: &iopv1.Envelope_EdgeCommandResponse{
		EdgeCommandResponse: &iopv1.EdgeCommandResponse{CommandId: commandID, Outcome: outcome, Message: message, Result: e.result(nonce)}}})
}

// tell notes what is about to be said. What can't be said now is only remembered.
func (e *edge) tell(nonce string, outcome iopv1.CommandOutcome) {
	e.shard.f.opts.Ledger.Said(nonce, outcome, e.state == serving)
}

func (e *edge) result(nonce string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		NonceKey: structpb.NewStringValue(nonce), EdgeKey: structpb.NewStringValue(e.id)}}
}

// phased is a command that goes on after its first answer.
type phased struct {
	commandID, nonce string
	phase            int
}

var phases = []struct {
	phase   iopv1.CommandPhase
	percent uint32
}{
	{iopv1.CommandPhase_COMMAND_PHASE_STARTED, 0},
	{iopv1.CommandPhase_COMMAND_PHASE_PROGRESS, 50},
	{iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED, 100},
}

// nextPhase goes on whether or not there is a connection: the Edge's work doesn't depend on it.
func (e *edge) nextPhase(p *phased) {
	e.later(e.shard.f.opts.CommandPhaseDelay, func() {
		now := phases[p.phase]
		event := &iopv1.EdgeCommandEvent{CommandId: p.commandID, Phase: now.phase, ProgressPercent: now.percent, OccurredAt: timestamppb.Now()}
		p.phase++
		if p.phase < len(phases) {
			e.nextPhase(p)
		} else {
			e.tell(p.nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED)
			event.Result = e.result(p.nonce)
		}
		if e.state == serving && e.behaviour != Mute {
			e.send(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandEvent{EdgeCommandEvent: event}})
		}
	})
}

// query answers what became of commands.
func (e *edge) query(id uint64, m *iopv1.EdgeCommandQueryRequest) {
	answer := &iopv1.EdgeCommandQueryResponse{}
	for _, commandID := range m.CommandIds {
		nonce, outcome, ok := e.shard.f.opts.Ledger.Known(e.number, commandID)
		if !ok {
			answer.UnknownCommandIds = append(answer.UnknownCommandIds, commandID)
			continue
		}
		e.tell(nonce, outcome)
		answer.Responses = append(answer.Responses, &iopv1.EdgeCommandResponse{CommandId: commandID, Outcome: outcome, Result: e.result(nonce)})
	}
	e.send(&iopv1.Envelope{ReplyTo: id, Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: answer}})
}
