package main

import (
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"iop/actors"
	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// counts are numbers of no actor.
type counts actors.Metrics

func (c counts) Metrics() actors.Metrics { return actors.Metrics(c) }

// Each number is shown under its own name and labels, and no other: no two of them are alike here.
func TestMetricValues(t *testing.T) {
	system := counts{
		EdgesConnected: 101, ClientsConnected: 102, HellosWaiting: 103, UnmatchedAnswers: 104, ForeignSnapshots: 105, Takeovers: 106,
		EventsDropped: 107, DeadLetters: 108, TLSFailures: 127, RecordsDropped: 128, Subscribers: 109, LongestBacklog: 110, RegistryLag: 111 * time.Second,
		HelloRefusals:       map[string]int64{"overloaded": 112, "unauthenticated": 113},
		ClientHelloRefusals: map[string]int64{"invalid_request": 114, "unauthenticated": 115},
		CommandRefusals:     map[string]int64{"edge_busy": 116, "edge_not_found": 117},
		Operations:          map[actors.Kind]int64{actors.CommandSent: 118, actors.CommandUnknown: 119},

		OperationsUnanswered: map[actors.OperationState]int64{actors.Pending: 120, actors.Sent: 121},
		OperationDurations: map[actors.OperationState]actors.Durations{
			actors.Succeeded: {Count: 122, Seconds: 123, Buckets: map[float64]uint64{1: 120}},
			actors.Failed:    {Count: 124, Seconds: 125, Buckets: map[float64]uint64{1: 121}},
		},
		EdgeWire:   traffic(t, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}}, 2, 5),
		ClientWire: traffic(t, &iopv1.Envelope{Id: 1 << 30, Body: &iopv1.Envelope_ClientHelloResponse{ClientHelloResponse: &iopv1.ClientHelloResponse{}}}, 3, 7),
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[counts]()) {
		if reflect.ValueOf(system).FieldByIndex(field.Index).IsZero() {
			t.Errorf("%s isn't looked for here", field.Name)
		}
	}
	want := `
iop_clients_connected 102
iop_client_hello_refusals_total{code="invalid_request"} 114
iop_client_hello_refusals_total{code="unauthenticated"} 115
iop_dead_letters_total 108
iop_edge_hellos_waiting 103
iop_edge_takeovers_total 106
iop_edges_connected 101
iop_event_backlog_longest 110
iop_event_subscribers 109
iop_events_dropped_total 107
iop_hello_refusals_total{code="overloaded"} 112
iop_hello_refusals_total{code="unauthenticated"} 113
iop_log_lost_lines_total 126
iop_operation_duration_seconds_bucket{outcome="failed",le="1"} 121
iop_operation_duration_seconds_bucket{outcome="succeeded",le="1"} 120
iop_operation_duration_seconds_count{outcome="failed"} 124
iop_operation_duration_seconds_count{outcome="succeeded"} 122
iop_operation_duration_seconds_sum{outcome="failed"} 125
iop_operation_duration_seconds_sum{outcome="succeeded"} 123
iop_operation_refusals_total{code="edge_busy"} 116
iop_operation_refusals_total{code="edge_not_found"} 117
iop_operation_steps_total{kind="command_sent"} 118
iop_operation_steps_total{kind="command_unknown"} 119
iop_operations_dropped_total 128
iop_operations_unanswered{state="pending"} 120
iop_operations_unanswered{state="sent"} 121
iop_registry_lag_seconds 111
iop_tls_handshake_failures_total 127
iop_wire_bytes_total{direction="in",type="other",wire="client"} 7
iop_wire_bytes_total{direction="in",type="other",wire="edge"} 5
iop_wire_bytes_total{direction="out",type="client_hello_response",wire="client"} 36
iop_wire_bytes_total{direction="out",type="edge_status_request",wire="edge"} 6
iop_wire_foreign_snapshots_total 105
iop_wire_frames_refused_total{wire="client"} 3
iop_wire_frames_refused_total{wire="edge"} 2
iop_wire_frames_total{direction="in",type="other",wire="client"} 1
iop_wire_frames_total{direction="in",type="other",wire="edge"} 1
iop_wire_frames_total{direction="out",type="client_hello_response",wire="client"} 4
iop_wire_frames_total{direction="out",type="edge_status_request",wire="edge"} 3
iop_wire_queued_bytes{wire="client"} 39
iop_wire_queued_bytes{wire="edge"} 12
iop_wire_queued_frames{wire="client"} 3
iop_wire_queued_frames{wire="edge"} 2
iop_wire_unmatched_answers_total 104
`
	families, err := newMetrics(system, nil, newReloads(), func() uint64 { return 126 }).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "iop_") && name != "iop_build_info" { // TestReloads has those of reloads
			for _, m := range f.Metric {
				got = append(got, samples(name, m)...)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(want), "\n")
	slices.Sort(lines)
	slices.Sort(got)
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Error(diff)
	}
}

// samples are a metric's lines in the text that Prometheus reads.
func samples(name string, m *dto.Metric) []string {
	labels := map[string]string{}
	for _, l := range m.Label {
		labels[l.GetName()] = l.GetValue()
	}
	var written []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		written = append(written, fmt.Sprintf("%s=%q", key, labels[key]))
	}
	line := func(part string, value any, more ...string) string {
		all := strings.Join(append(slices.Clone(written), more...), ",")
		if all != "" {
			all = "{" + all + "}"
		}
		return fmt.Sprintf("%s%s%s %v", name, part, all, value)
	}
	h := m.GetHistogram()
	if h == nil {
		return []string{line("", m.GetGauge().GetValue()+m.GetCounter().GetValue())}
	}
	all := []string{line("_count", h.GetSampleCount()), line("_sum", h.GetSampleSum())}
	for _, b := range h.Bucket {
		all = append(all, line("_bucket", b.GetCumulativeCount(), fmt.Sprintf(`le="%v"`, b.GetUpperBound())))
	}
	return all
}

// traffic is of a link whose peer reads nothing: one frame is being written, so many wait, and as many again were refused. What
// came in was one frame of this many bytes without a body that is known.
func traffic(t *testing.T, frame *iopv1.Envelope, waiting, received int) *wire.Traffic {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	of := &wire.Traffic{}
	of.Read(make([]byte, received))
	link := wire.NewTCPLink(ours, &wire.LinkOptions{MaxQueueFrames: waiting, MaxQueueBytes: 1 << 20, WriteTimeout: testkit.Patience, Traffic: of}, deaf{})
	t.Cleanup(link.Abort)
	link.Send(frame, "")
	testkit.Eventually(t, "the first frame is being written", func() bool { frames, _ := of.Waiting(); return frames == 0 })
	for range 2 * waiting {
		link.Send(frame, "")
	}
	if size := proto.Size(frame); size == received {
		t.Fatalf("both directions have %d bytes", size)
	}
	return of
}

// deaf hears of nothing that happens to a link.
type deaf struct{}

func (deaf) FrameBegun(string) {}
func (deaf) WriteStalled()     {}
