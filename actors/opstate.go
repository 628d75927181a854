package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// The states of an operation, as plain functions: each takes a record and something that happened and gives the record
// that follows, with the kind of event it makes. A nil record means that nothing changes: what is terminal stays as it is.
//
//	pending → sent → accepted → running → succeeded | failed | rejected | cancelled
//	   └ expired        (never sent)
//	sent → unknown → any of the above but pending and sent

type step struct {
	next *Operation
	kind Kind // of the event to publish; empty: none
	text string
}

var outcomes = map[iopv1.CommandOutcome]OperationState{
	iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED:  Accepted,
	iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED: Succeeded,
	iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED:  Rejected,
	iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED:    Failed,
	iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED: Cancelled,
}

var phases = map[iopv1.CommandPhase]struct {
	name  string
	state OperationState
	kind  Kind
}{
	iopv1.CommandPhase_COMMAND_PHASE_STARTED:   {"started", Running, CommandStarted},
	iopv1.CommandPhase_COMMAND_PHASE_PROGRESS:  {"progress", Running, CommandProgress},
	iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED: {"succeeded", Succeeded, CommandSucceeded},
	iopv1.CommandPhase_COMMAND_PHASE_FAILED:    {"failed", Failed, CommandFailed},
	iopv1.CommandPhase_COMMAND_PHASE_CANCELLED: {"cancelled", Cancelled, CommandCancelled},
}

var stateKinds = map[OperationState]Kind{
	Accepted: CommandAccepted, Succeeded: CommandSucceeded, Failed: CommandFailed,
	Rejected: CommandRejected, Cancelled: CommandCancelled, Expired: CommandExpired, Unknown: CommandUnknown,
}

// unanswered tells whether the Edge's first answer is still to come.
func (o *Operation) unanswered() bool { return o.State == Pending || o.State == Sent }

// unsent tells whether it may still turn out that the command was never written: nobody has said that it was.
func (o *Operation) unsent() bool {
	return o.State == Pending || o.State == Unknown && o.SentAt.IsZero()
}

// onSent: its first byte is on the way.
func (o *Operation) onSent(at time.Time) step {
	if o.State.Terminal() || !o.SentAt.IsZero() {
		return step{}
	}
	n := *o
	n.SentAt = at
	if n.State == Pending {
		n.State = Sent
	}
	return step{&n, CommandSent, ""}
}

// onExpired: it was never sent, and won't be.
func (o *Operation) onExpired(why string, at time.Time) step {
	if !o.unsent() {
		return step{}
	}
	n := *o
	n.State, n.Message, n.FinishedAt = Expired, why, at
	return step{&n, CommandExpired, why}
}

// onUnknown: it was sent, and nobody can say what became of it. What was accepted keeps its state: only the Edge ends it.
func (o *Operation) onUnknown(why string, at time.Time) step {
	if !o.unanswered() {
		return step{}
	}
	n := *o
	n.State = Unknown
	n.note(OperationEvent{Phase: "unknown", Message: why, ReceivedAt: at})
	return step{&n, CommandUnknown, why}
}

// onForgotten: the returned Edge says that it doesn't know the command. It is never sent again.
func (o *Operation) onForgotten(at time.Time) step {
	const why = "the Edge does not know this command; it is not sent again"
	if o.State.Terminal() || o.State == Unknown && o.lastNote() == why {
		return step{}
	}
	n := *o
	n.State = Unknown
	n.note(OperationEvent{Phase: "unknown", Message: why, ReceivedAt: at})
	if o.State == Unknown {
		return step{next: &n}
	}
	return step{&n, CommandUnknown, why}
}

// onAnswer: the Edge's answer to the command, to the question about it, or a late one. An outcome that has no meaning here
// says nothing.
func (o *Operation) onAnswer(outcome iopv1.CommandOutcome, message string, result json.RawMessage, at time.Time) step {
	state, ok := outcomes[outcome]
	if o.State.Terminal() {
		return step{}
	}
	if !ok {
		return o.onUnknown("the Edge's answer had no outcome", at)
	}
	if state == Accepted && (o.State == Accepted || o.State == Running) {
		return o.onAcceptedAgain(at)
	}
	n := *o
	n.State, n.Message = state, message
	if n.RespondedAt.IsZero() {
		n.RespondedAt = at
	}
	if result != nil {
		n.Result = result
	}
	if state.Terminal() {
		n.FinishedAt = at
	}
	if o.State == Unknown { // both facts are kept
		n.note(OperationEvent{Phase: string(state), Message: message, ReceivedAt: at})
	}
	return step{&n, stateKinds[state], message}
}

// onAcceptedAgain: an answer that comes after the events only adds when it came.
func (o *Operation) onAcceptedAgain(at time.Time) step {
	if !o.RespondedAt.IsZero() {
		return step{}
	}
	n := *o
	n.RespondedAt = at
	return step{next: &n}
}

// onError: the Edge answered the command with an Error. Its text is only for the log.
func (o *Operation) onError(code iopv1.ErrorCode, at time.Time) step {
	if o.State.Terminal() {
		return step{}
	}
	n := *o
	n.State, n.FinishedAt = Failed, at
	if n.RespondedAt.IsZero() {
		n.RespondedAt = at
	}
	switch code {
	case iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED, iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED:
		n.State = Rejected
	}
	n.Message = fmt.Sprintf("the Edge answered with the error %s", errorCodeName(code))
	if o.State == Unknown { // both facts are kept
		n.note(OperationEvent{Phase: string(n.State), Message: n.Message, ReceivedAt: at})
	}
	return step{&n, stateKinds[n.State], n.Message}
}

// onEvent: an EdgeCommandEvent, late or not.
func (o *Operation) onEvent(m *iopv1.EdgeCommandEvent, result json.RawMessage, at time.Time) step {
	p, ok := phases[m.Phase]
	if !ok || o.State.Terminal() {
		return step{}
	}
	n := *o
	message := clip(m.Message, maxMessageBytes)
	entry := OperationEvent{Phase: p.name, Message: message, ProgressPercent: m.ProgressPercent, ReceivedAt: at}
	if m.OccurredAt.IsValid() {
		entry.OccurredAt = m.OccurredAt.AsTime()
	}
	n.note(entry)
	n.State = p.state
	if p.state.Terminal() {
		n.FinishedAt, n.Message = at, message
		if result != nil {
			n.Result = result
		}
	}
	return step{&n, p.kind, message}
}

// note adds an entry to a record that isn't shared yet.
func (o *Operation) note(e OperationEvent) {
	e.Message = clip(e.Message, maxMessageBytes)
	kept := o.Events
	if len(kept) == maxOperationEvents {
		kept = kept[1:]
		o.EventsDropped++
	}
	o.Events = append(kept[:len(kept):len(kept)], e) // a new array: the old one belongs to the older record
}

func (o *Operation) lastNote() string {
	if len(o.Events) == 0 {
		return ""
	}
	return o.Events[len(o.Events)-1].Message
}

// errorCodeName is an error code without its prefix, as HTTP shows it.
func errorCodeName(c iopv1.ErrorCode) string {
	name, known := iopv1.ErrorCode_name[int32(c)]
	if !known {
		return "UNSPECIFIED"
	}
	return strings.TrimPrefix(name, "ERROR_CODE_")
}
