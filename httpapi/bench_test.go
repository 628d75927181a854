package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// rack is a snapshot of 4 nodes with 2 providers each.
func rack(edgeID string) *actors.Snapshot {
	m := &iopv1.EdgeStatusResponse{EdgeId: edgeID, ObservedAt: timestamppb.Now()}
	for n := range 4 {
		node := &iopv1.EdgeNodeSnapshot{NodeId: fmt.Sprintf("gpu-%d", n), Name: "rack 7", Connected: true, Labels: map[string]string{"gpu": "h200", "zone": "b"}}
		for p := range 2 {
			node.Providers = append(node.Providers, &iopv1.EdgeProviderSnapshot{ProviderId: fmt.Sprintf("vllm-%d", p), Type: "vllm", Models: []string{"llama-3.1-70b", "qwen2.5-72b"},
				Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE, General: counters(64, 17, 3), LongContext: counters(8, 2, 0)})
		}
		m.Nodes = append(m.Nodes, node)
	}
	return actors.NewSnapshot(edgeID, m, time.Now())
}

// The view of a status of 4 nodes with 2 providers each, as it is rendered for an answer (its nodes come decoded) and for
// a snapshot that is kept.
func BenchmarkStatusView(b *testing.B) {
	snapshot := rack("seoul-1")
	nodes := snapshot.Nodes()
	var buf []byte
	b.Run("answered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = appendStatus(buf[:0], snapshot, statusOrigin{live: true, connected: true, nodes: nodes})
		}
	})
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = appendStatus(buf[:0], snapshot, statusOrigin{connected: true})
		}
	})
}

func TestStatusViewAllocatesNothing(t *testing.T) {
	snapshot := rack("seoul-1")
	nodes, buf := snapshot.Nodes(), make([]byte, 0, 16<<10)
	if n := testing.AllocsPerRun(100, func() { buf = appendStatus(buf[:0], snapshot, statusOrigin{nodes: nodes}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// largeFleet is 19,000 Edges with fresh snapshots.
func largeFleet() *onePlane {
	var views []*actors.View
	for i := range 19_000 {
		id := fmt.Sprintf("edge-%05d", i)
		views = append(views, connectedEdge(id, rack(id)))
	}
	return &onePlane{fleet: actors.NewFleet(time.Now(), views...)}
}

// onePlane gives the same Fleet to all: making one anew would be what a benchmark measures.
type onePlane struct {
	fakePlane
	fleet *actors.Fleet
}

func (p *onePlane) Fleet(context.Context) (*actors.Fleet, *wire.Fault) { return p.fleet, nil }

func (p *onePlane) Gather(context.Context, func(*actors.View) bool, time.Duration, time.Duration) (actors.FleetReply, *wire.Fault) {
	return actors.FleetReply{Fleet: p.fleet}, nil
}

func BenchmarkLargeFleet(b *testing.B) {
	s := newServer(largeFleet())
	for _, target := range []string{"/fleet/summary?max_age=1h", "/fleet/status?max_age=1h", "/edges", "/fleet/models?max_age=1h", "/edges/edge-00000", "/healthz"} {
		b.Run(target[1:], func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+target, nil)
			for b.Loop() {
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
