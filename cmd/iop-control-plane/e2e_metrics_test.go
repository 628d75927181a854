package main

import (
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

// What happens on the two wires shows in /metrics, under names that can be relied on.
func TestMetricsOfTheWires(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	e.beat()
	waiting := d.postLater("e", `{"operation":"a"}`)
	e.reply(e.command(), succeeded)
	(<-waiting).is(200)
	e.sendRaw(framed([]byte{0x0a, 0})) // a field that the protocol doesn't have
	e.beat()
	ws := d.client1()
	sayTo(t, ws, &iopv1.Envelope{Id: 8, Body: ping().Body})
	if hear(t, ws).GetPong() == nil {
		t.Error("a Client's Ping was not answered")
	}
	for name, want := range map[string]float64{
		`iop_wire_frames_total{direction="in",type="edge_hello_request",wire="edge"}`:     1,
		`iop_wire_frames_total{direction="out",type="edge_hello_response",wire="edge"}`:   1,
		`iop_wire_frames_total{direction="in",type="ping",wire="edge"}`:                   2,
		`iop_wire_frames_total{direction="out",type="pong",wire="edge"}`:                  2,
		`iop_wire_frames_total{direction="out",type="edge_command_request",wire="edge"}`:  1,
		`iop_wire_frames_total{direction="in",type="other",wire="edge"}`:                  1,
		`iop_wire_bytes_total{direction="in",type="other",wire="edge"}`:                   2,
		`iop_wire_frames_total{direction="in",type="client_hello_request",wire="client"}`: 1,
		`iop_wire_frames_total{direction="out",type="pong",wire="client"}`:                1,
		`iop_clients_connected`: 1,
		`iop_edges_connected`:   1,
		`iop_operation_duration_seconds_count{outcome="succeeded"}`: 1,
		`iop_operations_unanswered{state="sent"}`:                   0,
		`iop_wire_queued_frames{wire="edge"}`:                       0,
		`iop_edge_hellos_waiting`:                                   0,
	} {
		testkit.Eventually(t, name, func() bool { return d.metric(name) == want })
	}
	if lag := d.metric("iop_registry_lag_seconds"); lag > patience.Seconds() {
		t.Errorf("the registry is %v s late", lag)
	}
	if at := d.metric(`iop_reload_last_success_timestamp_seconds{what="config"}`); time.Since(time.Unix(int64(at), 0)) > 2*patience {
		t.Errorf("the configuration was read at %v", at)
	}
	silent := d.dialEdge()
	testkit.Eventually(t, "one has said nothing", func() bool { return d.metric("iop_edge_hellos_waiting") == 1 })
	silent.Close()
	testkit.Eventually(t, "and is gone", func() bool { return d.metric("iop_edge_hellos_waiting") == 0 })
	ws.Close()
	testkit.Eventually(t, "the Client is gone", func() bool { return d.metric("iop_clients_connected") == 0 })
	bad := d.dialClient()
	sayTo(t, bad, &iopv1.Envelope{Id: 1, Body: ping().Body})
	ends(t, "a Ping first", bad, 1002, badPrecondition)
	testkit.Eventually(t, "the refusal is counted", func() bool {
		return d.metric(`iop_client_hello_refusals_total{code="failed_precondition"}`) == 1
	})
}

// beat sends a Ping and waits for its Pong.
func (e *testEdge) beat() {
	e.t.Helper()
	m := ping()
	m.Id = 1 << 40
	e.send(m)
	for {
		if m := e.next(); m.GetPong() != nil && m.ReplyTo == 1<<40 {
			return
		}
	}
}
