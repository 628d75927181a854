package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

var allStates = []OperationState{Pending, Sent, Accepted, Running, Succeeded, Failed, Rejected, Cancelled, Expired, Unknown}

// operationIn is a record as it is in a state.
func operationIn(state OperationState) *Operation {
	o := &Operation{ID: "op", EdgeID: "e1", State: state, CreatedAt: at(0), ExpiresAt: at(30)}
	if state != Pending && state != Expired {
		o.SentAt = at(1)
	}
	switch state {
	case Accepted, Running:
		o.RespondedAt = at(2)
	case Succeeded, Failed, Rejected, Cancelled:
		o.RespondedAt, o.FinishedAt, o.Message = at(2), at(3), "done"
	}
	return o
}

// Every state × every happening: the state that follows and the event's kind, or "" where nothing changes.
func TestOperationStates(t *testing.T) {
	answer := func(outcome iopv1.CommandOutcome) func(*Operation) step {
		return func(o *Operation) step { return o.onAnswer(outcome, "m", nil, at(9)) }
	}
	event := func(phase iopv1.CommandPhase) func(*Operation) step {
		return func(o *Operation) step {
			return o.onEvent(&iopv1.EdgeCommandEvent{Phase: phase, Message: "m"}, nil, at(9))
		}
	}
	errored := func(code iopv1.ErrorCode) func(*Operation) step {
		return func(o *Operation) step { return o.onError(code, at(9)) }
	}
	const (
		sentKind = "sent command_sent"
		unknown  = "unknown command_unknown"
		accepted = "accepted command_accepted"
	)
	open := func(pending, sent, accepted, running, unknown string) map[OperationState]string {
		return map[OperationState]string{Pending: pending, Sent: sent, Accepted: accepted, Running: running, Unknown: unknown}
	}
	all := func(s string) map[OperationState]string { return open(s, s, s, s, s) }
	for name, c := range map[string]struct {
		do   func(*Operation) step
		want map[OperationState]string // terminal states: nothing changes, ever
	}{
		"sent":      {func(o *Operation) step { return o.onSent(at(9)) }, open(sentKind, "", "", "", "")},
		"expired":   {func(o *Operation) step { return o.onExpired("why", at(9)) }, open("expired command_expired", "", "", "", "")},
		"unknown":   {func(o *Operation) step { return o.onUnknown("why", at(9)) }, open(unknown, unknown, "", "", "")},
		"forgotten": {func(o *Operation) step { return o.onForgotten(at(9)) }, open(unknown, unknown, unknown, unknown, "unknown ")},

		"answer accepted":    {answer(iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED), open(accepted, accepted, "", "", accepted)},
		"answer succeeded":   {answer(iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED), all("succeeded command_succeeded")},
		"answer rejected":    {answer(iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED), all("rejected command_rejected")},
		"answer failed":      {answer(iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED), all("failed command_failed")},
		"answer cancelled":   {answer(iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED), all("cancelled command_cancelled")},
		"answer unspecified": {answer(0), open(unknown, unknown, "", "", "")},
		"answer of tomorrow": {answer(99), open(unknown, unknown, "", "", "")},

		"error internal":          {errored(iopv1.ErrorCode_ERROR_CODE_INTERNAL), all("failed command_failed")},
		"error unimplemented":     {errored(iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED), all("rejected command_rejected")},
		"error invalid argument":  {errored(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT), all("rejected command_rejected")},
		"error permission denied": {errored(iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED), all("rejected command_rejected")},

		"event started":     {event(iopv1.CommandPhase_COMMAND_PHASE_STARTED), all("running command_started")},
		"event progress":    {event(iopv1.CommandPhase_COMMAND_PHASE_PROGRESS), all("running command_progress")},
		"event succeeded":   {event(iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED), all("succeeded command_succeeded")},
		"event failed":      {event(iopv1.CommandPhase_COMMAND_PHASE_FAILED), all("failed command_failed")},
		"event cancelled":   {event(iopv1.CommandPhase_COMMAND_PHASE_CANCELLED), all("cancelled command_cancelled")},
		"event unspecified": {event(0), all("")},
		"event of tomorrow": {event(99), all("")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, state := range allStates {
				o := operationIn(state)
				before := *o
				s := c.do(o)
				got := ""
				if s.next != nil {
					got = fmt.Sprintf("%s %s", s.next.State, s.kind)
				}
				if got != c.want[state] {
					t.Errorf("in %s: %q, want %q", state, got, c.want[state])
				}
				wantEqual(t, "the older record", *o, before)
				checkTimes(t, s.next)
				if state == Unknown && s.next != nil && s.next.State != Unknown && len(s.next.Events) != len(o.Events)+1 {
					t.Errorf("out of unknown: the record has %d facts after %d: both are kept", len(s.next.Events), len(o.Events))
				}
			}
		})
	}
}

// checkTimes holds a record to what its state promises.
func checkTimes(t *testing.T, o *Operation) {
	t.Helper()
	if o != nil && o.State.Terminal() == o.FinishedAt.IsZero() {
		t.Errorf("%s finished at %v", o.State, o.FinishedAt)
	}
}

func TestLateAnswerKeepsBothFacts(t *testing.T) {
	o := operationIn(Sent).onUnknown("lost", at(5)).next
	o = o.onAnswer(iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, "done", json.RawMessage(`{"a":1}`), at(7)).next
	wantEqual(t, "record", []any{o.State, o.Message, string(o.Result), o.RespondedAt.Equal(at(7)), o.FinishedAt.Equal(at(7))},
		[]any{Succeeded, "done", `{"a":1}`, true, true})
	wantEqual(t, "facts", phasesOf(o), []string{"unknown: lost", "succeeded: done"})
}

func TestForgottenIsNotedOnce(t *testing.T) {
	o := operationIn(Sent).onUnknown("lost", at(5)).next
	o = o.onForgotten(at(6)).next
	if again := o.onForgotten(at(7)); again.next != nil {
		t.Error("noted twice")
	}
	wantEqual(t, "facts", len(o.Events), 2)
	o = o.onAnswer(iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, "", nil, at(8)).next
	wantEqual(t, "an Edge that remembers after all", o.State, Accepted)
}

// An Edge may be heard to start before it is heard to accept.
func TestAcceptedAfterItsEvents(t *testing.T) {
	o := operationIn(Sent).onEvent(&iopv1.EdgeCommandEvent{Phase: iopv1.CommandPhase_COMMAND_PHASE_STARTED}, nil, at(2)).next
	s := o.onAnswer(iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, "m", nil, at(3))
	wantEqual(t, "record", []any{s.next.State, s.kind, s.next.RespondedAt.Equal(at(3))}, []any{Running, "", true})
	if s.next.onAnswer(iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, "m", nil, at(4)).next != nil {
		t.Error("accepted again")
	}
}

func TestOperationEventsAreBounded(t *testing.T) {
	o := operationIn(Accepted)
	var records []*Operation
	for i := range 3 * maxOperationEvents {
		m := &iopv1.EdgeCommandEvent{Phase: iopv1.CommandPhase_COMMAND_PHASE_PROGRESS, Message: fmt.Sprint(i), ProgressPercent: uint32(i),
			OccurredAt: timestamppb.New(at(float64(i)))}
		o = o.onEvent(m, nil, at(9)).next
		records = append(records, o)
	}
	wantEqual(t, "kept, dropped", []any{len(o.Events), o.EventsDropped}, []any{maxOperationEvents, 2 * maxOperationEvents})
	last := o.Events[maxOperationEvents-1]
	wantEqual(t, "last", []any{last.Message, last.ProgressPercent, last.OccurredAt.Equal(at(191)), last.ReceivedAt.Equal(at(9))}, []any{"191", 191, true, true})
	for i, r := range records { // no record's entries were overwritten by a later one's
		if got := r.Events[len(r.Events)-1].Message; got != fmt.Sprint(i) {
			t.Fatalf("record %d ends with %s", i, got)
		}
	}
}

// What an Edge says is kept for long: its texts are bounded wherever they come from.
func TestOperationTextsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, o := range map[string]*Operation{
		"event":       operationIn(Accepted).onEvent(&iopv1.EdgeCommandEvent{Phase: iopv1.CommandPhase_COMMAND_PHASE_FAILED, Message: long}, nil, at(1)).next,
		"late answer": operationIn(Unknown).onAnswer(iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, clip(long, maxMessageBytes), nil, at(1)).next,
	} {
		if n := o.bytes(); n > 3*maxMessageBytes {
			t.Errorf("%s: the record takes %d bytes", name, n)
		}
	}
}

func TestInvalidTimesOfEdges(t *testing.T) {
	m := &iopv1.EdgeCommandEvent{Phase: iopv1.CommandPhase_COMMAND_PHASE_STARTED, OccurredAt: &timestamppb.Timestamp{Seconds: 1 << 60}}
	if o := operationIn(Sent).onEvent(m, nil, time.Now()).next; !o.Events[0].OccurredAt.IsZero() {
		t.Errorf("kept %v", o.Events[0].OccurredAt)
	}
}

func TestErrorCodeNames(t *testing.T) {
	for code, want := range map[iopv1.ErrorCode]string{0: "UNSPECIFIED", iopv1.ErrorCode_ERROR_CODE_INTERNAL: "INTERNAL",
		iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT: "INVALID_ARGUMENT", 999: "UNSPECIFIED", -1: "UNSPECIFIED"} {
		wantEqual(t, fmt.Sprint(int32(code)), errorCodeName(code), want)
	}
}

func phasesOf(o *Operation) (list []string) {
	for _, e := range o.Events {
		list = append(list, e.Phase+": "+e.Message)
	}
	return list
}

// Whatever an Edge says later, it responded when it first did.
func TestRespondedOnce(t *testing.T) {
	accepted := operationIn(Accepted)
	for what, s := range map[string]step{
		"an error":   accepted.onError(iopv1.ErrorCode_ERROR_CODE_INTERNAL, at(9)),
		"an outcome": accepted.onAnswer(iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, "", nil, at(9)),
	} {
		wantEqual(t, what, []any{s.next.State, s.next.RespondedAt.Equal(accepted.RespondedAt), s.next.FinishedAt.Equal(at(9))}, []any{Failed, true, true})
	}
}
