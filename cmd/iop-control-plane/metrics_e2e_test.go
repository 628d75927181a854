package main

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

// wants reads samples of /metrics until they are these.
func (d *testDaemon) wants(samples map[string]float64) {
	d.t.Helper()
	for name, want := range samples {
		testkit.Eventually(d.t, fmt.Sprintf("%s is %v", name, want), func() bool {
			value, there := d.sample(name) // some begin with the first frame of their kind
			return there && value == want
		})
	}
}

// What goes wrong on the Edge wire shows in /metrics.
func TestMetricsOfTrouble(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	first, second := helloOf("e"), helloOf("e")
	second.Name = "the same Edge, whose older link died"
	d.connect(first)
	e := d.connect(second)
	e.reply(&iopv1.Envelope{Id: 77}, succeeded) // nobody asked
	e.send(status(snapshotOf("other")))         // another's
	own := status(snapshotOf("e"))
	e.send(own)
	d.wants(map[string]float64{
		"iop_edges_connected":              1,
		"iop_edge_takeovers_total":         1,
		"iop_wire_unmatched_answers_total": 1,
		"iop_wire_foreign_snapshots_total": 1,
		`iop_wire_bytes_total{direction="in",type="edge_hello_request",wire="edge"}`:   float64(proto.Size(helloEnvelope(first)) + proto.Size(helloEnvelope(second))),
		`iop_wire_bytes_total{direction="in",type="edge_status_response",wire="edge"}`: float64(proto.Size(status(snapshotOf("other"))) + proto.Size(own)),
	})
}

// An Edge that doesn't read: what waits for it is a gauge, and what there was no room for a counter.
func TestMetricsOfAQueue(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {heartbeat_interval: 5m, write_timeout: 5m}\n")
	c := d.unreadEdge("e")
	refused := `iop_wire_frames_refused_total{wire="edge"}`
	testkit.Eventually(t, "a frame is refused", func() bool {
		d.do("POST", "/edges/e/commands?wait=false", `{"operation":"a","timeout":"60s"}`)
		return d.metric(refused) > 0
	})
	testkit.Eventually(t, "frames wait, and their bytes", func() bool { // the sockets may take some more before all stands
		frames, bytes := d.metric(`iop_wire_queued_frames{wire="edge"}`), d.metric(`iop_wire_queued_bytes{wire="edge"}`)
		return frames > 0 && bytes > frames
	})
	d.wants(map[string]float64{`iop_wire_frames_refused_total{wire="client"}`: 0, `iop_wire_queued_frames{wire="client"}`: 0})
	c.Close()
	d.wants(map[string]float64{`iop_wire_queued_frames{wire="edge"}`: 0, `iop_wire_queued_bytes{wire="edge"}`: 0})
}
