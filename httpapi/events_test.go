package httpapi

import (
	"net/http"
	"testing"
	"time"

	"iop/actors"
	"iop/wire"
)

func TestEventLists(t *testing.T) {
	var asked actors.EventQuery
	dropped := uint64(40)
	at1 := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	page := actors.EventPage{Events: []*actors.Event{
		{Run: "r", Seq: 1, EdgeID: "x", NodeID: "n1", OperationID: "op", Kind: actors.NodeReady, Message: "up\n", At: at1, OccurredAt: at1.AddDate(10, 0, 0)},
		{Run: "r", Seq: 2, Kind: actors.EdgeConnected, At: at1},
	}, Next: "r.2"}
	plane := everything(nil)
	plane.events = func(q actors.EventQuery) actors.EventPage {
		asked = q
		return page
	}
	s := newServer(plane)
	o := do(s, http.MethodGet, "/edges/x/events?after=any%20thing&limit=7", "").want(t)
	if asked != (actors.EventQuery{EdgeID: "x", After: "any thing", Limit: 7}) {
		t.Errorf("asked %+v", asked)
	}
	wantAt(t, o, "gap", "null", "next", "r.2",
		"events.0", `{"at":"2026-01-02T03:04:05.000000000Z","edge_id":"x","id":"r-000000000001-0-fd0c5087","kind":"node_ready","message":"up\n","node_id":"n1","occurred_at":"2036-01-02T03:04:05.000000000Z","operation_id":"op"}`,
		"events.1", `{"at":"2026-01-02T03:04:05.000000000Z","edge_id":null,"id":"r-000000000002-0-811c9dc5","kind":"edge_connected","message":null,"node_id":null,"occurred_at":null,"operation_id":null}`)
	page = actors.EventPage{Gap: &actors.Gap{Dropped: &dropped, Reason: actors.Overwritten}}
	wantAt(t, do(s, http.MethodGet, "/fleet/events", "").want(t), "events", "[]", "gap", `{"dropped":40,"reason":"overwritten"}`, "next", "null")
	if asked != (actors.EventQuery{Limit: 100}) {
		t.Errorf("asked %+v", asked)
	}
	page = actors.EventPage{Gap: &actors.Gap{Reason: actors.Restarted}}
	wantAt(t, do(s, http.MethodGet, "/fleet/events", "").want(t), "gap", `{"dropped":null,"reason":"restarted"}`)
	for _, target := range []string{"/edges/x/events?limit=0", "/edges/nobody/events?limit=1001", "/fleet/events?limit=x", "/fleet/events?after=a&after=b"} {
		do(s, http.MethodGet, target, "").wantProblem(t, wire.InvalidRequest)
	}
	do(s, http.MethodGet, "/fleet/events?limit=x", "", "Accept", streamType).wantProblem(t, wire.InvalidRequest)
	do(s, http.MethodGet, "/edges/nobody/events", "").wantProblem(t, wire.EdgeNotFound)
}
