package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

func commandOf(m *iopv1.Envelope) *iopv1.EdgeCommandRequest { return m.GetEdgeCommandRequest() }

// operation reads a record.
func (d *testDaemon) operation(edgeID, id string) answer {
	d.t.Helper()
	return d.get("/edges/" + edgeID + "/operations/" + id)
}

func (d *testDaemon) becomes(edgeID, id, state string) answer {
	d.t.Helper()
	var a answer
	testkit.Eventually(d.t, "the operation is "+state, func() bool { a = d.operation(edgeID, id); return a.text("state") == state })
	return a
}

// phases are the phases of a record's entries.
func (a answer) phases() string {
	var all []string
	for _, e := range a.list("events") {
		all = append(all, e.(object)["phase"].(string))
	}
	return strings.Join(all, " ")
}

func TestAnswersToCommands(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	run := func(reply func(*iopv1.Envelope)) answer {
		waiting := d.postLater("e", `{"operation":"a","timeout":"20s"}`)
		reply(e.command())
		return <-waiting
	}
	for code, state := range map[iopv1.ErrorCode]string{unimplemented: "rejected", badArgument: "rejected", noPermission: "rejected",
		exhausted: "failed", iopv1.ErrorCode_ERROR_CODE_INTERNAL: "failed", 0: "failed"} {
		a := run(func(m *iopv1.Envelope) { e.answer(m, failure(code, "at 10.0.0.7")) })
		a.isProblem(502, "edge_error", "operation.state", state, "edge_error", strings.TrimPrefix(code.String(), "ERROR_CODE_"))
		if strings.Contains(string(a.body), "10.0.0.7") {
			t.Errorf("the Edge's words are shown: %s", a.body)
		}
		d.operation("e", a.text("operation.operation_id")).is(200, "state", state)
	}
	for name, nonsense := range map[string]func(*iopv1.Envelope) *iopv1.Envelope{
		"a status":    func(*iopv1.Envelope) *iopv1.Envelope { return status(snapshotOf("e")) },
		"no body":     func(*iopv1.Envelope) *iopv1.Envelope { return &iopv1.Envelope{} },
		"another id":  func(*iopv1.Envelope) *iopv1.Envelope { return response("another", succeeded) },
		"no outcome":  func(m *iopv1.Envelope) *iopv1.Envelope { return response(commandOf(m).CommandId, noOutcome) },
		"new outcome": func(m *iopv1.Envelope) *iopv1.Envelope { return response(commandOf(m).CommandId, 99) },
	} {
		var id string
		a := run(func(m *iopv1.Envelope) { id = commandOf(m).CommandId; e.answer(m, nonsense(m)) })
		a.what = name
		a.isProblem(502, "edge_error", "edge_error", nil, "operation.state", "unknown", "operation.finished_at", nil)
		e.send(response(id, succeeded)) // unknown can still become known
		settled := d.becomes("e", id, "succeeded")
		if settled.phases() != "unknown succeeded" {
			t.Errorf("%s: %s", name, settled.phases())
		}
	}
	run(func(m *iopv1.Envelope) { e.reply(m, iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED) }).is(200, "state", "cancelled")
	run(func(m *iopv1.Envelope) { e.reply(m, iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED) }).is(200, "state", "rejected")
}

// TestLateAnswers are taken by their command's id, from the Edge whose command it is, and wake nobody.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e, other := d.connect(helloOf("e")), d.connect(helloOf("other"))
	waiting := d.postLater("e", `{"operation":"a","timeout":"300ms"}`)
	ordered := e.command()
	request := commandOf(ordered)
	a := (<-waiting).isProblem(504, "edge_timeout", "operation.state", "unknown", "operation.operation_id", request.CommandId)
	created, _ := time.Parse(time.RFC3339Nano, a.text("operation.created_at"))
	if !request.ExpiresAt.AsTime().Equal(created.Add(300*time.Millisecond)) || request.Timeout.AsDuration() != 300*time.Millisecond {
		t.Errorf("created %v, expires %v, timeout %v", created, request.ExpiresAt.AsTime(), request.Timeout.AsDuration())
	}
	before := d.metric("iop_wire_unmatched_answers_total")
	other.answer(ordered, response(request.CommandId, succeeded))
	other.send(phase(request.CommandId, iopv1.CommandPhase_COMMAND_PHASE_FAILED))
	other.settle()
	testkit.Eventually(t, "another Edge's answer is counted", func() bool { return d.metric("iop_wire_unmatched_answers_total") == before+1 })
	d.operation("e", request.CommandId).is(200, "state", "unknown")
	e.answer(ordered, response(request.CommandId, accepted))
	d.becomes("e", request.CommandId, "accepted")
	for _, p := range []iopv1.CommandPhase{iopv1.CommandPhase_COMMAND_PHASE_STARTED, 99, iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED} {
		e.send(phase(request.CommandId, p))
	}
	settled := d.becomes("e", request.CommandId, "succeeded")
	if got := settled.phases(); got != "unknown accepted started succeeded" {
		t.Errorf("its entries: %s", got)
	}
	e.send(response(request.CommandId, iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED)) // what is terminal stays so
	e.send(phase(request.CommandId, iopv1.CommandPhase_COMMAND_PHASE_CANCELLED))
	e.settle()
	d.events("e", "edge_connected command_sent command_unknown command_accepted command_started command_succeeded")
	d.operation("e", request.CommandId).is(200, "state", "succeeded")
	d.operation("other", request.CommandId).isProblem(404, "operation_not_found")
}

// TestQuestionOnReturn: the Edge is asked about all that was sent and isn't terminal, once it is back.
func TestQuestionOnReturn(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	ids := map[string]string{}
	start := func(name string, then func(*iopv1.Envelope)) {
		waiting := d.postLater("e", `{"operation":"`+name+`","timeout":"20s"}`)
		m := e.command()
		ids[name] = commandOf(m).CommandId
		if then != nil {
			then(m)
			(<-waiting).is(202)
		}
	}
	start("accepted", func(m *iopv1.Envelope) { e.reply(m, accepted) })
	start("running", func(m *iopv1.Envelope) {
		e.reply(m, accepted)
		e.send(phase(commandOf(m).CommandId, iopv1.CommandPhase_COMMAND_PHASE_STARTED))
	})
	start("forgotten", func(m *iopv1.Envelope) { e.reply(m, accepted) })
	d.becomes("e", ids["running"], "running")
	start("lost", nil)
	e.conn.Close()
	d.becomes("e", ids["lost"], "unknown")
	d.operation("e", ids["running"]).is(200, "state", "running") // only the Edge ends it

	e = d.connect(helloOf("e"))
	question := e.next()
	asked := question.GetEdgeCommandQueryRequest()
	if len(asked.GetCommandIds()) != 4 {
		t.Fatalf("asked about %v", question)
	}
	e.answer(question, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: &iopv1.EdgeCommandQueryResponse{
		Responses: []*iopv1.EdgeCommandResponse{
			{CommandId: ids["accepted"], Outcome: succeeded},
			{CommandId: ids["running"], Outcome: accepted},
			{CommandId: ids["lost"], Outcome: accepted},
		},
		UnknownCommandIds: []string{ids["forgotten"], "made-up"},
	}}})
	d.becomes("e", ids["accepted"], "succeeded")
	d.becomes("e", ids["lost"], "accepted")
	forgotten := d.becomes("e", ids["forgotten"], "unknown")
	if forgotten.phases() != "unknown" || !strings.Contains(forgotten.text("events.0.message"), "does not know") {
		t.Errorf("no entry says that the Edge doesn't know it: %s", forgotten.body)
	}
	d.operation("e", ids["running"]).is(200, "state", "running")
	// Events are taken from whatever connection owns the Edge.
	e.send(phase(ids["running"], iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED))
	d.becomes("e", ids["running"], "succeeded")
	e.settle()
	if len(e.got) > 0 {
		t.Errorf("what is forgotten was sent again: %v", <-e.got)
	}
}

// TestQuestionsFitFrames, however many commands are open and however small max_frame_bytes is.
func TestQuestionsFitFrames(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {max_frame_bytes: 1024}\n")
	e := d.connect(helloOf("e"))
	open := map[string]bool{}
	for range 50 {
		waiting := d.postLater("e", `{"operation":"a"}`)
		m := e.command()
		open[commandOf(m).CommandId] = true
		e.reply(m, accepted)
		(<-waiting).is(202)
	}
	d.post("e", `{"operation":"a","parameters":{"x":"`+strings.Repeat("x", 1000)+`"}}`).isProblem(413, "payload_too_large")
	e.conn.Close()
	e = d.connect(helloOf("e"))
	for len(open) > 0 {
		m := e.next()
		if n := len(frameOf(m)) - 4; n > 1024 || m.GetEdgeCommandQueryRequest() == nil {
			t.Fatalf("a frame of %d bytes: %.200v", n, m)
		}
		for _, id := range m.GetEdgeCommandQueryRequest().CommandIds {
			delete(open, id)
		}
		e.answer(m, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: &iopv1.EdgeCommandQueryResponse{}}})
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "audit: {idempotency_window: 3s, edge_buffer: 2}\n")
	e, other := d.connect(helloOf("e")), d.connect(helloOf("other"))
	key := []string{"Idempotency-Key", "k"}
	const body = `{"operation":"a","timeout":"20s","parameters":{"n":1,"m":[]}}`
	first := d.postLater("e", body, key...)
	m := e.command()
	id := commandOf(m).CommandId
	// While it runs: a replay waits as the first does, another way of writing the body is the same body, and who doesn't
	// want to wait doesn't.
	replay := d.postLater("e", ` {"parameters":{"m":[],"n":1.0},"timeout":"20s","operation":"\u0061"}`, key...)
	d.do("POST", "/edges/e/commands?wait=false", body, key...).is(202, "operation_id", id, "state", "sent")
	d.post("e", `{"operation":"a","timeout":"21s","parameters":{"n":1,"m":[]}}`, key...).isProblem(409, "idempotency_conflict")
	elsewhere := d.postLater("other", body, key...) // keys are scoped to the Edge
	other.reply(other.command(), succeeded)
	(<-elsewhere).is(200)
	e.reply(m, accepted)
	location := (<-first).is(202, "operation_id", id, "state", "accepted").header.Get("Location")
	(<-replay).is(202, "operation_id", id)
	d.get(location).is(200, "operation_id", id)
	e.send(phase(id, iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED))
	d.becomes("e", id, "succeeded")
	for i := range 3 { // however many operations come after
		waiting := d.postLater("e", fmt.Sprintf(`{"operation":"b%d"}`, i))
		e.reply(e.command(), succeeded)
		(<-waiting).is(200)
	}
	d.get("/edges/e/operations").is(200, "dropped", 2, "operations.1.operation", "b1", "operations.2", nil)
	d.post("e", body, key...).is(200, "operation_id", id, "state", "succeeded")
	e.conn.Close()
	testkit.Eventually(t, "the Edge is gone", func() bool { return d.get("/edges/e").text("state") == "disconnected" })
	d.post("e", body, key...).is(200, "operation_id", id)

	e = d.connect(helloOf("e"))
	var now answer
	testkit.Eventually(t, "the window is over", func() bool {
		now = d.do("POST", "/edges/e/commands?wait=false", body, key...)
		return now.text("operation_id") != id
	})
	now.is(202)
	if commandOf(e.command()).CommandId != now.text("operation_id") {
		t.Error("the key was free, and nothing was sent")
	}
}

// TestReplayOfWhatFailed: a repeated request is answered as the first one was; a command that was refused leaves its key free.
func TestReplayOfWhatFailed(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {max_in_flight: 1}\n")
	e := d.connect(helloOf("e"))
	lost := d.postLater("e", `{"operation":"a"}`, "Idempotency-Key", "lost")
	id := commandOf(e.command()).CommandId
	busy := d.post("e", `{"operation":"b"}`, "Idempotency-Key", "busy").isProblem(429, "edge_busy")
	if busy.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	d.get("/edges/e/status").isProblem(429, "edge_busy")
	d.get("/fleet/status").is(200, "errors.0.code", "edge_busy", "unanswered", 1, "fresh.edges", 0)
	e.conn.Close()
	first := (<-lost).isProblem(503, "edge_disconnected", "operation.operation_id", id, "operation.state", "unknown", "disconnect_reason", "connection_closed")
	again := d.post("e", `{"operation":"a"}`, "Idempotency-Key", "lost").isProblem(503, "edge_disconnected", "operation.operation_id", id)
	if first.text("disconnected_at") == "" || again.text("detail") != first.text("detail") {
		t.Errorf("first %s\nagain %s", first.body, again.body)
	}
	d.post("e", `{"operation":"b"}`, "Idempotency-Key", "busy").isProblem(503, "edge_disconnected", "operation", nil)
	d.get("/edges/e/operations").is(200, "operations.1", nil)

	e = d.connect(helloOf("e"))
	e.next() // the question, left open
	later := d.postLater("e", `{"operation":"c","timeout":"20s"}`, "Idempotency-Key", "busy")
	e.reply(e.command(), succeeded)
	(<-later).is(200, "operation", "c")
	d.post("e", `{"operation":"c","timeout":"20s"}`, "Idempotency-Key", "busy").is(200, "operation", "c")
	e.send(response(id, succeeded)) // the first one's caller has gone; who asks again hears the end
	d.becomes("e", id, "succeeded")
	d.post("e", `{"operation":"a"}`, "Idempotency-Key", "lost").is(200, "operation_id", id, "state", "succeeded")
}

func TestOperationsList(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	for i := range 7 {
		waiting := d.postLater("e", fmt.Sprintf(`{"operation":"o%d","reason":"r"}`, i))
		outcome := succeeded
		if i%2 == 1 {
			outcome = iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED
		}
		e.reply(e.command(), outcome)
		(<-waiting).is(200, "requested_by", nil, "reason", "r", "events_dropped", 0, "parameters", nil)
	}
	for _, path := range []string{"/edges/e/operations", "/fleet/operations"} {
		var names []string
		for cursor := ""; ; {
			page := d.get(path + "?state=succeeded&limit=3&cursor=" + cursor).is(200)
			for _, o := range page.list("operations") {
				names = append(names, o.(object)["operation"].(string))
			}
			if cursor = page.text("next_cursor"); cursor == "" {
				break
			}
		}
		if strings.Join(names, " ") != "o6 o4 o2 o0" {
			t.Errorf("%s: newest first: %v", path, names)
		}
		d.get(path+"?state=done").isProblem(400, "invalid_request")
	}
}
