package httpapi

import (
	"net/http"
	"testing"
	"time"

	"iop/actors"
	"iop/wire"
)

func TestOperationView(t *testing.T) {
	at1 := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("KST", 9*3600))
	o := &actors.Operation{ID: "op", EdgeID: "x", Operation: "model.load", State: actors.Running, CreatedAt: at1, SentAt: at1, Parameters: []byte(`{"a":1}`),
		Result: []byte(`{"done":[true]}`), Message: "half", EventsDropped: 3, Events: []actors.OperationEvent{
			{Phase: "accepted", ReceivedAt: at1},
			{Phase: "started", OccurredAt: at1, ReceivedAt: at1},
			{Phase: "progress", Message: "half", ProgressPercent: 50, ReceivedAt: at1},
			{Phase: "succeeded", ProgressPercent: 100, ReceivedAt: at1},
		}}
	plane := everything(nil)
	plane.operation = func(edgeID, operationID string) (*actors.Operation, *wire.Fault) {
		if edgeID == "x" && operationID == "op" {
			return o, nil
		}
		return nil, &wire.Fault{Code: wire.OperationNotFound, Message: "no"}
	}
	s := newServer(plane)
	wantAt(t, do(s, http.MethodGet, "/edges/x/operations/op", "").want(t), "operation_id", "op", "edge_id", "x", "operation", "model.load", "state", "running",
		"node_id", "null", "reason", "null", "requested_by", "null", "parameters.a", "1", "result.done", "[true]", "message", "half",
		"created_at", "2026-01-01T18:04:05.000000006Z", "sent_at", "2026-01-01T18:04:05.000000006Z", "responded_at", "null", "finished_at", "null",
		"events_dropped", "3", "events.0", `{"message":null,"occurred_at":null,"phase":"accepted","progress_percent":null,"received_at":"2026-01-01T18:04:05.000000006Z"}`,
		"events.1.progress_percent", "0", "events.2.progress_percent", "50", "events.2.message", "half", "events.3.progress_percent", "100")
	do(s, http.MethodGet, "/edges/x/operations/nope", "").wantProblem(t, wire.OperationNotFound)
	do(s, http.MethodGet, "/edges/x/operations/a%2Fb", "").wantProblem(t, wire.OperationNotFound)
	do(s, http.MethodGet, "/edges/y/operations/op", "").wantProblem(t, wire.EdgeNotFound)
}

func TestOperationLists(t *testing.T) {
	var asked actors.OperationQuery
	plane := everything(nil)
	plane.operations = func(q actors.OperationQuery) actors.OperationPage {
		asked = q
		return actors.OperationPage{Operations: []*actors.Operation{{ID: "b", State: actors.Failed}, {ID: "a", State: actors.Failed}}, Dropped: 4, More: true}
	}
	s := newServer(plane)
	o := do(s, http.MethodGet, "/edges/x/operations?state=failed&limit=2", "").want(t)
	if asked != (actors.OperationQuery{EdgeID: "x", State: actors.Failed, Limit: 2}) {
		t.Errorf("asked %+v", asked)
	}
	wantAt(t, o, "operations.0.operation_id", "b", "operations.1.operation_id", "a", "dropped", "4")
	do(s, http.MethodGet, "/fleet/operations?cursor="+o["next_cursor"].(string), "").want(t)
	if asked != (actors.OperationQuery{Before: "a", Limit: 100}) {
		t.Errorf("asked %+v", asked)
	}
	plane.operations = func(actors.OperationQuery) actors.OperationPage { return actors.OperationPage{} }
	wantAt(t, do(s, http.MethodGet, "/fleet/operations", "").want(t), "operations", "[]", "dropped", "0", "next_cursor", "null")
	for _, query := range []string{"state=done", "limit=0", "cursor=!!", "cursor=" + encodeCursor(edgesCursor, []byte("x"))} {
		do(s, http.MethodGet, "/fleet/operations?"+query, "").wantProblem(t, wire.InvalidRequest)
		do(s, http.MethodGet, "/edges/nobody/operations?"+query, "").wantProblem(t, wire.InvalidRequest)
	}
	do(s, http.MethodGet, "/edges/nobody/operations", "").wantProblem(t, wire.EdgeNotFound)
}
