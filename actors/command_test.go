package actors

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	outcomeAccepted  = iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED
	outcomeSucceeded = iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED
	phaseStarted     = iopv1.CommandPhase_COMMAND_PHASE_STARTED
	phaseSucceeded   = iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED
)

// commandOf is the next word, which must be a command.
func (f *fakeEdge) commandRequest() (*iopv1.Envelope, *iopv1.EdgeCommandRequest) {
	f.t.Helper()
	m := f.request()
	if m.GetEdgeCommandRequest() == nil {
		f.t.Fatalf("got %v, want a command", m)
	}
	return m, m.GetEdgeCommandRequest()
}

// wantReply checks a caller's answer: the fault's code or "", and the operation's state or "".
func wantReply(t *testing.T, r CommandReply, code wire.Code, state OperationState) *Operation {
	t.Helper()
	gotCode, gotState := wire.Code(""), OperationState("")
	if r.Fault != nil {
		gotCode = r.Fault.Code
	}
	if r.Operation != nil {
		gotState = r.Operation.State
	}
	if gotCode != code || gotState != state {
		t.Fatalf("answered %q with operation %q, want %q and %q", gotCode, gotState, code, state)
	}
	return r.Operation
}

// wantOnItsWay is for a command that its caller doesn't wait for: whether its frame was begun before the answer is chance.
func wantOnItsWay(t *testing.T, r CommandReply) *Operation {
	t.Helper()
	if r.Operation == nil || r.Operation.State != Sent {
		return wantReply(t, r, "", Pending)
	}
	return wantReply(t, r, "", Sent)
}

func TestCommandSucceeds(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		began := time.Now()
		ask := &CommandAsk{EdgeID: "e1", Operation: "restart", NodeID: "n1", Parameters: &structpb.Struct{Fields: map[string]*structpb.Value{"force": structpb.NewBoolValue(true)}}, Shown: json.RawMessage(`{"force":true}`),
			Timeout: 5 * time.Second, Reason: "because", RequestedBy: "alice", RequestID: "asked-1", Wait: true}
		answer := askCommand(s, ask)
		m, c := f.commandRequest()
		wantEqual(t, "request", []any{c.Operation, c.NodeId, c.Parameters.Fields["force"].GetBoolValue(), c.Timeout.AsDuration(), c.RequestedBy, c.RequestId, c.ExpiresAt.AsTime().Equal(began.Add(5 * time.Second))},
			[]any{"restart", "n1", true, 5 * time.Second, "alice", "asked-1", true})
		wantEqual(t, "meanwhile", operation(t, s, "e1", c.CommandId).State, Sent)
		result := outcomeOf(c.CommandId, outcomeSucceeded)
		result.GetEdgeCommandResponse().Result = &structpb.Struct{Fields: map[string]*structpb.Value{"pid": structpb.NewNumberValue(7)}}
		time.Sleep(time.Second)
		f.reply(m.Id, result)
		o := wantReply(t, <-answer, "", Succeeded)
		wantEqual(t, "operation", []any{o.ID, o.EdgeID, o.NodeID, string(o.Parameters), o.Reason, o.RequestedBy, o.RequestID, o.Message, string(o.Result), o.SentAt.Equal(began), o.RespondedAt.Equal(began.Add(time.Second)), o.FinishedAt.Equal(o.RespondedAt)},
			[]any{c.CommandId, "e1", "n1", `{"force":true}`, "because", "alice", "asked-1", outcomeSucceeded, `{"pid":7}`, true, true, true})
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "command_sent", "command_succeeded"})
		wantEqual(t, "of another Edge", operationFault(s, "e2", o.ID), wire.OperationNotFound)
		f.reply(m.Id, outcomeOf(c.CommandId, iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED)) // what is settled stays
		wantEqual(t, "after a duplicate", operation(t, s, "e1", o.ID).State, Succeeded)
		wantEqual(t, "unmatched", s.Metrics().UnmatchedAnswers, 1)
	})
}

func operationFault(s *System, edgeID, id string) wire.Code {
	if _, f := s.Operation(context.Background(), edgeID, id); f != nil {
		return f.Code
	}
	return ""
}

func TestCommandAcceptedThenEvents(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		m, c := f.commandRequest()
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeAccepted))
		wantReply(t, <-answer, "", Accepted)
		time.Sleep(time.Hour) // once accepted, only the Edge ends it
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Accepted)
		f.send(phaseOf(c.CommandId, phaseStarted))
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Running)
		again := connect(t, s, "e1") // events are taken from whatever connection owns the Edge
		f.send(phaseOf(c.CommandId, phaseSucceeded))
		again.request() // what became of it?
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Running)
		again.send(phaseOf(c.CommandId, phaseSucceeded))
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Succeeded)
		wantEqual(t, "events", kinds(t, s, "e1"),
			[]string{"edge_connected", "command_sent", "command_accepted", "command_started", "edge_superseded", "command_succeeded"})
	})
}

// Each answer to a command, what its caller is told, and what the record says.
func TestCommandAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer    func(id string) *iopv1.Envelope
		code      wire.Code
		state     OperationState
		edgeError string
	}{
		"rejected":                              {func(id string) *iopv1.Envelope { return outcomeOf(id, iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED) }, "", Rejected, ""},
		"failed":                                {func(id string) *iopv1.Envelope { return outcomeOf(id, iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED) }, "", Failed, ""},
		"cancelled":                             {func(id string) *iopv1.Envelope { return outcomeOf(id, iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED) }, "", Cancelled, ""},
		"no id in it, but reply_to says enough": {func(string) *iopv1.Envelope { return outcomeOf("", outcomeSucceeded) }, "", Succeeded, ""},

		"unspecified":     {func(id string) *iopv1.Envelope { return outcomeOf(id, 0) }, wire.EdgeError, Unknown, ""},
		"of tomorrow":     {func(id string) *iopv1.Envelope { return outcomeOf(id, 42) }, wire.EdgeError, Unknown, ""},
		"another id":      {func(string) *iopv1.Envelope { return outcomeOf("other", outcomeSucceeded) }, wire.EdgeError, Unknown, ""},
		"another type":    {func(string) *iopv1.Envelope { return statusOf("e1", "n") }, wire.EdgeError, Unknown, ""},
		"no body":         {func(string) *iopv1.Envelope { return &iopv1.Envelope{} }, wire.EdgeError, Unknown, ""},
		"error":           {func(string) *iopv1.Envelope { return errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL) }, wire.EdgeError, Failed, "INTERNAL"},
		"error: not such": {func(string) *iopv1.Envelope { return errorOf(iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED) }, wire.EdgeError, Rejected, "UNIMPLEMENTED"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				answer := askCommand(s, commandFor("e1"))
				m, request := f.commandRequest()
				f.reply(m.Id, c.answer(request.CommandId))
				r := <-answer
				o := wantReply(t, r, c.code, c.state)
				wantEqual(t, "edge_error", r.EdgeError, c.edgeError)
				wantEqual(t, "record", operation(t, s, "e1", o.ID).State, c.state)
				if o.Message == "secret of the Edge" {
					t.Error("the Edge's words are shown")
				}
			})
		})
	}
}

func TestCommandRefusedLeavesNothing(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		wantReply(t, s.Command(context.Background(), commandFor("e1")), wire.EdgeNotFound, "")
		f := connect(t, s, "e1")
		f.send(goodbyeEnvelope())
		synctest.Wait()
		wantReply(t, s.Command(context.Background(), commandFor("e1")), wire.EdgeDisconnected, "")
		a := askStatus(s, "e1", time.Second) // it may still answer what is asked
		f.reply(f.request().Id, statusOf("e1", "n"))
		wantEqual(t, "node", nodeOf(t, <-a), "n")
		f.conn.Close()
		synctest.Wait()
		keyed := commandFor("e1")
		keyed.Key = "k"
		for range 2 { // the key isn't used up
			wantReply(t, s.Command(context.Background(), keyed), wire.EdgeDisconnected, "")
		}
		page, _ := s.Operations(context.Background(), OperationQuery{Limit: 10})
		wantEqual(t, "operations, dropped", []any{len(page.Operations), page.Dropped}, []any{0, 0})
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "edge_disconnected:goodbye"})
	})
}

// What can't be encoded is the caller's mistake: to be told "busy" would have it tried for ever.
func TestACommandThatCannotBeEncoded(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		bad := commandFor("e1")
		bad.NodeID = "\xff"
		for range 2 * s.opts.MaxInFlight { // none takes a place
			wantReply(t, s.Command(context.Background(), bad), wire.InvalidRequest, "")
		}
		askCommand(s, commandFor("e1"))
		f.commandRequest()
		wantEqual(t, "on record", firstOperation(t, s).NodeID, "")
	})
}

// Nobody answers: the caller is told when the time is up, and what comes later still counts.
func TestCommandTimesOut(t *testing.T) {
	for name, later := range map[string]func(f *fakeEdge, m *iopv1.Envelope, id string){
		"late answer":                 func(f *fakeEdge, m *iopv1.Envelope, id string) { f.reply(m.Id, outcomeOf(id, outcomeSucceeded)) },
		"late answer without its id":  func(f *fakeEdge, _ *iopv1.Envelope, id string) { f.send(outcomeOf(id, outcomeSucceeded)) },
		"late answer of a later life": func(f *fakeEdge, _ *iopv1.Envelope, id string) { f.reply(12345, outcomeOf(id, outcomeSucceeded)) },
		"late answer that names none": func(f *fakeEdge, m *iopv1.Envelope, _ string) { f.reply(m.Id, outcomeOf("", outcomeSucceeded)) },
		"late event":                  func(f *fakeEdge, _ *iopv1.Envelope, id string) { f.send(phaseOf(id, phaseSucceeded)) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				began := time.Now()
				answer := askCommand(s, commandFor("e1"))
				m, c := f.commandRequest()
				o := wantReply(t, <-answer, wire.EdgeTimeout, Unknown)
				wantEqual(t, "waited", time.Since(began), 30*time.Second)
				wantEqual(t, "facts", phasesOf(o), []string{"unknown: the Edge did not answer in time"})
				time.Sleep(time.Minute)
				later(f, m, c.CommandId)
				o = operation(t, s, "e1", c.CommandId)
				wantEqual(t, "then", []any{o.State, len(o.Events)}, []any{Succeeded, 2})
				wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "command_sent", "command_unknown", "command_succeeded"})
			})
		})
	}
}

func TestForeignAndUnknownCommands(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f, thief := connect(t, s, "e1"), connect(t, s, "e2")
		answer := askCommand(s, commandFor("e1"))
		m, c := f.commandRequest()
		thief.send(outcomeOf(c.CommandId, outcomeSucceeded))
		thief.send(phaseOf(c.CommandId, phaseSucceeded))
		f.send(phaseOf("nobody's", phaseSucceeded))
		f.send(outcomeOf("", outcomeSucceeded))
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Sent)
		wantEqual(t, "unmatched", s.Metrics().UnmatchedAnswers, 2) // the events are no answers
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantReply(t, <-answer, "", Succeeded)
	})
}

// An answer that was waited for is a match, though it says nothing new: an event was quicker, or the Edge was asked about more than is
// kept.
func TestMatchedAnswersAreNotCountedAsUnmatched(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		m, c := f.commandRequest()
		f.send(phaseOf(c.CommandId, phaseSucceeded))
		wantReply(t, <-answer, "", Succeeded)
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		s.root().Send(s.registry, &queryCommands{edgeID: "e1", ids: []string{c.CommandId, "forgotten"}})
		f.reply(f.request().Id, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: &iopv1.EdgeCommandQueryResponse{
			Responses: []*iopv1.EdgeCommandResponse{outcomeOf(c.CommandId, outcomeSucceeded).GetEdgeCommandResponse()}, UnknownCommandIds: []string{"forgotten"}}}})
		operation(t, s, "e1", c.CommandId) // behind all that
		wantEqual(t, "unmatched", s.Metrics().UnmatchedAnswers, 0)
	})
}

// An Edge that is back is asked about what it was sent and isn't settled; nothing is sent twice.
func TestLostAndAsked(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		var ids []string
		var answers []<-chan CommandReply
		for range 4 {
			answers = append(answers, askCommand(s, commandFor("e1")))
			m, c := f.commandRequest()
			ids = append(ids, c.CommandId)
			if len(ids) == 4 {
				f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
			}
		}
		f.conn.Close()
		for i, a := range answers[:3] {
			o := wantReply(t, <-a, wire.EdgeDisconnected, Unknown)
			wantEqual(t, "operation", o.ID, ids[i])
		}
		wantReply(t, <-answers[3], "", Succeeded)

		f = connect(t, s, "e1")
		f.askedAbout(ids[:3], knows([]*iopv1.Envelope{outcomeOf(ids[0], outcomeSucceeded), outcomeOf(ids[1], outcomeAccepted)},
			ids[2], ids[3], "nobody's"))
		var states []OperationState
		for _, id := range ids {
			states = append(states, operation(t, s, "e1", id).State)
		}
		wantEqual(t, "states", states, []OperationState{Succeeded, Accepted, Unknown, Succeeded})
		wantEqual(t, "facts of the forgotten", phasesOf(operation(t, s, "e1", ids[2])),
			[]string{"unknown: the connection ended before the Edge answered", "unknown: the Edge does not know this command; it is not sent again"})
		f.conn.Close()
		synctest.Wait()
		f = connect(t, s, "e1")
		f.askedAbout(ids[1:3], knows([]*iopv1.Envelope{outcomeOf(ids[1], outcomeAccepted)}, ids[2]))
		f.send(phaseOf(ids[1], phaseSucceeded))
		wantEqual(t, "state", operation(t, s, "e1", ids[1]).State, Succeeded)
	})
}

// An Edge still answers on its new connection what it was asked on the one before. That meets nothing which is pending there, not
// even the question what became of it.
func TestAnswersOfAnEarlierConnection(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		first, c := f.commandRequest()
		f.conn.Close()
		wantReply(t, <-answer, wire.EdgeDisconnected, Unknown)

		f = connect(t, s, "e1")
		query := f.request()
		status := askStatus(s, "e1", 5*time.Second)
		asked := f.request()
		f.reply(first.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantEqual(t, "its state", operation(t, s, "e1", c.CommandId).State, Succeeded)
		f.reply(query.Id, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: &iopv1.EdgeCommandQueryResponse{}}})
		f.reply(asked.Id, statusOf("e1", "n"))
		wantEqual(t, "node", nodeOf(t, <-status), "n")
		wantEqual(t, "unmatched", s.Metrics().UnmatchedAnswers, 0)
	})
}

// Only what an Edge was asked about can be unknown to it.
func TestQueryAnswersOfWhatWasNotAsked(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		lost := askCommand(s, commandFor("e1"))
		f.request()
		f.conn.Close()
		<-lost
		f = connect(t, s, "e1")
		query := f.request()
		answer := askCommand(s, commandFor("e1"))
		m, c := f.commandRequest()
		f.reply(query.Id, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: &iopv1.EdgeCommandQueryResponse{
			UnknownCommandIds: []string{c.CommandId}}}})
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Sent)
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantReply(t, <-answer, "", Succeeded)
	})
}
