package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

func instance(id, name string) *iopv1.EdgeHelloRequest {
	h := helloOf(id)
	h.InstanceId = name
	return h
}

// kinds are those of an Edge's events, oldest first.
func (d *testDaemon) kinds(edgeID string) string {
	d.t.Helper()
	var kinds []string
	for _, e := range d.get("/edges/" + edgeID + "/events?limit=1000").is(200).list("events") {
		kinds = append(kinds, e.(object)["kind"].(string))
	}
	return strings.Join(kinds, " ")
}

// events waits until an Edge's events are these.
func (d *testDaemon) events(edgeID, want string) {
	d.t.Helper()
	got := ""
	defer func() {
		if got != want {
			d.t.Logf("the events of %s are %s", edgeID, got)
		}
	}()
	testkit.Eventually(d.t, edgeID+"'s events: "+want, func() bool { got = d.kinds(edgeID); return got == want })
}

func (e *testEdge) isTold(reason iopv1.GoAwayReason) *iopv1.GoAway {
	e.t.Helper()
	m := e.next()
	if m.GetGoAway().GetReason() != reason {
		e.t.Fatalf("%s: wanted %v, got %v", e.id, reason, m)
	}
	return m.GetGoAway()
}

func (e *testEdge) hasEnded() {
	e.t.Helper()
	for {
		select {
		case _, open := <-e.got:
			if !open {
				return
			}
		case <-time.After(patience):
			e.t.Fatalf("%s: the connection goes on", e.id)
		}
	}
}

const superseded = iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED

// TestTakeover: nothing that the older connection does afterwards touches the id.
func TestTakeover(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	old := d.connect(helloOf("e"))
	old.push(snapshotOf("e"))
	status := d.later("GET", "/edges/e/status?timeout=20s", "")
	asked := old.next()
	command := d.postLater("e", `{"operation":"a","timeout":"20s"}`)
	ordered := old.command()

	owner := d.connect(helloOf("e"))
	(<-status).isProblem(503, "edge_disconnected")
	(<-command).isProblem(503, "edge_disconnected", "operation.state", "unknown")
	old.isTold(superseded)
	if q := owner.next().GetEdgeCommandQueryRequest(); len(q.GetCommandIds()) != 1 || q.CommandIds[0] != ordered.GetEdgeCommandRequest().CommandId {
		t.Errorf("the newer connection was asked about %v", q)
	}
	// Within the time in which what it says is still read:
	foreign := snapshotOf("e")
	foreign.Nodes[0].NodeId = "old"
	old.answer(asked, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: foreign}})
	old.reply(ordered, succeeded)
	old.send(phase(ordered.GetEdgeCommandRequest().CommandId, iopv1.CommandPhase_COMMAND_PHASE_FAILED))
	old.send(goodbye())
	old.hasEnded()
	d.get("/edges/e").is(200, "state", "connected", "connections", 2, "takeovers", 1, "disconnect_reason", nil)
	d.get("/edges/e/status?max_age=1h").is(200, "nodes.0.node_id", "n1")
	d.get("/edges/e/operations").is(200, "operations.0.state", "unknown")
	d.events("e", "edge_connected command_sent edge_superseded command_unknown")
	owner.settle()
}

// TestClones: the fifth taking from a live owner of another instance makes a conflict; takings by the same instance and
// claims of an id that nobody owns don't count.
func TestClones(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	d.connect(instance("same", "a"))
	for range 8 {
		d.connect(instance("same", "a"))
	}
	d.connect(instance("nameless", ""))
	for range 8 {
		d.connect(instance("nameless", ""))
	}
	for i := range 8 {
		d.connect(instance("restarts", fmt.Sprint(i))).conn.Close()
		testkit.Eventually(t, "it is gone", func() bool { return d.get("/edges/restarts").text("state") == "disconnected" })
	}
	for _, id := range []string{"same", "nameless", "restarts"} {
		if d.get("/edges/"+id).is(200, "conflict", false); strings.Contains(d.kinds(id), "conflict") {
			t.Errorf("%s: %s", id, d.kinds(id))
		}
	}
	d.connect(instance("e", "a"))
	for i := range 4 {
		d.connect(instance("e", "b-"[:i%2])) // "" and "b"
	}
	d.get("/edges/e").is(200, "conflict", false, "takeovers", 4)
	owner := d.connect(instance("e", "z"))
	d.get("/edges/e").is(200, "conflict", true, "takeovers", 5, "instance_id", "z")
	d.events("e", "edge_connected"+strings.Repeat(" edge_superseded", 5)+" edge_conflict")
	message := d.get("/edges/e/events?limit=1").text("events.0.message")
	if !strings.Contains(message, `"z"`) || !strings.Contains(message, `"b"`) {
		t.Errorf("the conflict's event names not both: %s", message)
	}
	for _, other := range []string{"a", ""} {
		c := d.dialEdge()
		_, _ = c.Write(frameOf(helloEnvelope(instance("e", other))))
		lastError(t, c, exhausted)
	}
	owner.settle()
	owner = d.connect(instance("e", "z")) // its own place
	d.get("/edges/e").is(200, "conflict", true, "takeovers", 6)
	owner.conn.Close()
	testkit.Eventually(t, "the owner is gone", func() bool { return d.get("/edges/e").text("state") == "disconnected" })
	d.get("/edges/e").is(200, "conflict", false)
	d.connect(instance("e", "a"))
}

func TestRejectPolicy(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {duplicate_policy: reject}\n")
	d.connect(instance("e", "a"))
	for range 6 {
		c := d.dialEdge()
		_, _ = c.Write(frameOf(helloEnvelope(instance("e", "b"))))
		lastError(t, c, badPrecondition)
	}
	owner := d.connect(instance("e", "a")) // the same instance isn't asked
	d.get("/edges/e").is(200, "takeovers", 1, "conflict", false, "instance_id", "a")
	owner.conn.Close()
	testkit.Eventually(t, "the owner is gone", func() bool { return d.get("/edges/e").text("state") == "disconnected" })
	c, m := d.sayHello(instance("e", "b"))
	if m.GetEdgeHelloResponse() == nil {
		t.Fatalf("an id without an owner: %v", m)
	}
	// The owner says nothing any more, as one whose link is dead.
	began := time.Now()
	_, m = d.sayHello(instance("e", "c"))
	if took := time.Since(began); m.GetEdgeHelloResponse() == nil || took < 2*time.Second {
		t.Fatalf("a silent owner: %v after %v", m, took)
	}
	if words := lastWords(t, c); len(words) != 2 || words[0].GetPing() == nil || words[1].GetGoAway().GetReason() != superseded {
		t.Errorf("the silent owner heard %v", words)
	}
	d.get("/edges/e").is(200, "instance_id", "c")
}

func TestMaxConnections(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {max_connections: 2}\n")
	a, _ := d.connect(helloOf("a")), d.connect(helloOf("b"))
	c := d.dialEdge()
	_, _ = c.Write(frameOf(helloEnvelope(helloOf("c"))))
	words := lastWords(t, c)
	if len(words) != 1 || words[0].GetGoAway().GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED || words[0].GetGoAway().ReconnectAfter.AsDuration() <= 0 {
		t.Fatalf("the third Edge heard %v", words)
	}
	again := d.connect(instance("a", "another")) // its own place
	a.isTold(superseded)
	d.get("/edges/c").isProblem(404, "edge_not_found")
	again.conn.Close()
	testkit.Eventually(t, "a is gone", func() bool { return d.get("/edges/a").text("state") == "disconnected" })
	d.connect(helloOf("c"))
	c = d.dialEdge()
	_, _ = c.Write(frameOf(helloEnvelope(helloOf("a")))) // known, but not connected
	if words := lastWords(t, c); len(words) != 1 || words[0].GetGoAway() == nil {
		t.Fatalf("a third Edge heard %v", words)
	}
	d.get("/edges").is(200, "total", 3, "connected", 2, "disconnected", 1)
}

// TestHeartbeats: an interval is stretched as the fleet grows and told by the next Pong; silence is stale, then an end.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {heartbeat_interval: 1s, max_heartbeats_per_second: 1}\n")
	silent := d.connect(helloOf("silent"))
	d.get("/edges/silent").is(200, "heartbeat_interval_ms", 1000, "state", "connected", "clock_skew_ms", nil)
	seen := map[string]bool{}
	e := d.connect(helloOf("e"))
	d.get("/edges/e").is(200, "heartbeat_interval_ms", 2000)
	third := d.connect(helloOf("third"))
	e.send(ping())
	if m := e.next(); m.GetPong().GetHeartbeatInterval().AsDuration() != 3*time.Second {
		t.Fatalf("three Edges and one heartbeat a second: %v", m)
	}
	e.send(ping())
	if m := e.next(); m.GetPong() == nil || m.GetPong().HeartbeatInterval != nil {
		t.Errorf("an interval that has not changed: %v", m)
	}
	d.get("/edges/e").is(200, "heartbeat_interval_ms", 3000)
	testkit.Eventually(t, "the silent Edge is gone", func() bool {
		a := d.get("/edges/silent")
		if state := a.text("state"); !seen[state] {
			seen[state] = true
			d.get("/edges?state="+state+"&prefix=silent").is(200, "total", 1, state, 1)
		}
		return a.text("state") == "disconnected"
	})
	if !seen["connected"] || !seen["stale"] {
		t.Errorf("it went through %v", seen)
	}
	d.get("/edges/silent").is(200, "disconnect_reason", "heartbeat_timeout", "connected", false)
	silent.hasEnded()
	third.conn.Close()
}

func TestGoodbye(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {retain_disconnected_max: 2}\n")
	e := d.connect(helloOf("e"))
	command := d.postLater("e", `{"operation":"a","timeout":"20s"}`)
	ordered := e.command()
	e.send(goodbye())
	e.settle()
	d.post("e", `{"operation":"b"}`).isProblem(503, "edge_disconnected")
	d.get("/edges/e/operations").is(200, "operations.1", nil)
	e.reply(ordered, succeeded) // it may answer what is pending
	(<-command).is(200, "state", "succeeded")
	e.conn.Close()
	testkit.Eventually(t, "it is gone", func() bool { return d.get("/edges/e").text("disconnect_reason") == "goodbye" })
	for _, id := range []string{"x", "y"} {
		d.connect(helloOf(id)).conn.Close()
		testkit.Eventually(t, "the next is gone", func() bool { return d.get("/edges/"+id).text("disconnect_reason") == "connection_closed" })
	}
	d.get("/edges/e").isProblem(404, "edge_not_found") // the oldest went
	d.get("/edges").is(200, "total", 2, "disconnected", 2, "edges.0.edge_id", "x")
	d.get("/fleet/operations").is(200, "operations.0.edge_id", "e")
}
