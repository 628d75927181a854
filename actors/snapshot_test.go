package actors

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	available   = iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE
	unavailable = iopv1.ProviderStatus_PROVIDER_STATUS_UNAVAILABLE
	busy        = iopv1.ProviderStatus_PROVIDER_STATUS_BUSY
)

func provider(status iopv1.ProviderStatus, capacity, inFlight, queued uint32) *iopv1.EdgeProviderSnapshot {
	return &iopv1.EdgeProviderSnapshot{Status: status, General: &iopv1.ProviderCounters{Capacity: capacity, InFlight: inFlight, Queued: queued}}
}

func TestTotals(t *testing.T) {
	node := func(connected bool, providers ...*iopv1.EdgeProviderSnapshot) *iopv1.EdgeNodeSnapshot {
		return &iopv1.EdgeNodeSnapshot{Connected: connected, Providers: providers}
	}
	long := provider(available, 1, 1, 0)
	long.LongContext = &iopv1.ProviderCounters{Capacity: 2, InFlight: 1}
	for name, c := range map[string]struct {
		nodes []*iopv1.EdgeNodeSnapshot
		want  Totals
	}{
		"nothing":               {nil, Totals{Edges: 1}},
		"a node without any":    {[]*iopv1.EdgeNodeSnapshot{node(true)}, Totals{Edges: 1, Nodes: 1, NodesConnected: 1}},
		"one that takes work":   {[]*iopv1.EdgeNodeSnapshot{node(true, provider(available, 8, 3, 2))}, Totals{1, 1, 1, 1, 1, Capacity{8, 3, 2, 5}, Capacity{}}},
		"one over its capacity": {[]*iopv1.EdgeNodeSnapshot{node(true, provider(available, 8, 9, 0), provider(available, 4, 1, 0))}, Totals{1, 1, 1, 2, 2, Capacity{12, 10, 0, 3}, Capacity{}}},
		"busy ones are not free": {[]*iopv1.EdgeNodeSnapshot{node(true, provider(busy, 8, 3, 0), provider(unavailable, 8, 0, 0), provider(99, 8, 0, 0))},
			Totals{1, 1, 1, 3, 0, Capacity{24, 3, 0, 0}, Capacity{}}},
		"a node that isn't connected counts, its numbers don't": {[]*iopv1.EdgeNodeSnapshot{node(false, provider(available, 8, 3, 2)), node(true)}, Totals{Edges: 1, Nodes: 2, NodesConnected: 1, Providers: 1}},
		"long context": {[]*iopv1.EdgeNodeSnapshot{node(true, long)}, Totals{1, 1, 1, 1, 1, Capacity{1, 1, 0, 0}, Capacity{2, 1, 0, 1}}},
		"no counters":  {[]*iopv1.EdgeNodeSnapshot{node(true, &iopv1.EdgeProviderSnapshot{Status: available})}, Totals{1, 1, 1, 1, 1, Capacity{}, Capacity{}}},
		"the largest numbers": {[]*iopv1.EdgeNodeSnapshot{node(true, provider(available, 1<<32-1, 0, 1<<32-1), provider(available, 1<<32-1, 0, 0))},
			Totals{1, 1, 1, 2, 2, Capacity{2 * (1<<32 - 1), 0, 1<<32 - 1, 2 * (1<<32 - 1)}, Capacity{}}},
	} {
		t.Run(name, func(t *testing.T) {
			wantEqual(t, "totals", totalsOf(&iopv1.EdgeStatusResponse{Nodes: c.nodes}), c.want)
		})
	}
	sum := Totals{1, 2, 3, 4, 5, Capacity{1, 2, 3, 4}, Capacity{5, 6, 7, 8}}
	sum.Add(sum)
	wantEqual(t, "added", sum, Totals{2, 4, 6, 8, 10, Capacity{2, 4, 6, 8}, Capacity{10, 12, 14, 16}})
}

func TestSnapshotKeepsWhatWasSaid(t *testing.T) {
	m := &iopv1.EdgeStatusResponse{EdgeId: "e1", ObservedAt: timestamppb.New(noon), Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: "n1", Connected: true,
		Labels: map[string]string{"a": "b"}, Providers: []*iopv1.EdgeProviderSnapshot{provider(available, 8, 3, 2)}}}}
	s := NewSnapshot("e1", m, at(1))
	nodes := s.Nodes()
	wantEqual(t, "times", []any{s.ObservedAt.Equal(noon), s.ReceivedAt.Equal(at(1))}, []any{true, true})
	wantEqual(t, "nodes", []any{len(nodes), nodes[0].NodeId, nodes[0].Labels["a"], nodes[0].Providers[0].General.Capacity}, []any{1, "n1", "b", 8})
	m.ObservedAt = &timestamppb.Timestamp{Nanos: -1}
	wantEqual(t, "a time that is none", NewSnapshot("e1", m, at(1)).ObservedAt.IsZero(), true)
}

func TestFleetReadings(t *testing.T) {
	snapshot := NewSnapshot("b", &iopv1.EdgeStatusResponse{}, at(-10))
	views := map[string]*View{
		"a": {EdgeID: "a", Connected: true, Pulse: NewPulse(22500*time.Millisecond, 15*time.Second, nil)},
		"b": {EdgeID: "b", Connected: true, Pulse: NewPulse(22501*time.Millisecond, 15*time.Second, snapshot), ConflictUntil: at(1)},
		"c": {EdgeID: "c", Pulse: NewPulse(0, 15*time.Second, nil), ConflictUntil: at(1)},
	}
	f := NewFleet(at(0), views["c"], views["a"], views["b"])
	for id, want := range map[string]State{"a": Connected, "b": Stale, "c": Disconnected} {
		wantEqual(t, id, f.State(f.Get(id)), want)
	}
	wantEqual(t, "last seen", f.LastSeen(views["a"]).Equal(at(-22.5)), true)
	reset := &Fleet{At: at(3600), mono: int64(100 * time.Second)} // the clock was set since the process began
	seen := &Pulse{}
	seen.lastSeen.Store(int64(90 * time.Second))
	wantEqual(t, "last seen by a clock that was set", reset.LastSeen(&View{Pulse: seen}).Equal(at(3590)), true)
	wantEqual(t, "conflict", []bool{f.InConflict(views["a"]), f.InConflict(views["b"]), f.InConflict(views["c"])}, []bool{false, true, false})
	wantEqual(t, "age", f.Age(snapshot), 10*time.Second)
	wantEqual(t, "age of one from after the moment", f.Age(NewSnapshot("x", &iopv1.EdgeStatusResponse{}, at(5))), time.Duration(0))
	wantEqual(t, "fresh", []bool{f.fresh(views["b"], 10*time.Second), f.fresh(views["b"], 9*time.Second), f.fresh(views["a"], time.Hour)}, []bool{true, false, false})
	var ids string
	f.From("b", func(v *View) bool { ids += v.EdgeID; return true })
	wantEqual(t, "from b", ids, "bc")
	f.From("", func(v *View) bool { ids += v.EdgeID; return false })
	wantEqual(t, "the first", ids, "bca")
	if f.Get("nobody") != nil || f.Len() != 3 {
		t.Error("what isn't there")
	}
}

// A pushed snapshot is there as soon as it was read: no message is under way that a later heartbeat's answer could overtake.
func TestPushIsKeptByWhoReads(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		r := &reader{linkEvents: linkEvents{sys: s}, pulse: &Pulse{}, edgeID: "e1", helloTaken: true}
		push := func(m *iopv1.Envelope) string {
			frame, err := wire.AppendFrame(nil, m)
			if err != nil {
				t.Fatal(err)
			}
			if next := r.TakeFrame(frame[wire.HeaderBytes:], nil); next != wire.ReadOn {
				t.Errorf("after it: %v", next)
			}
			return r.pulse.Snapshot().Nodes()[0].NodeId
		}
		wantEqual(t, "newest", push(statusOf("e1", "n1")), "n1")
		wantEqual(t, "newest", push(statusOf("e1", "n2")), "n2")
		wantEqual(t, "newest after another Edge's", push(statusOf("e2", "n3")), "n2")
		wantEqual(t, "foreign", s.counters.foreign.Load(), 1)
		wantEqual(t, "credit taken", r.credit.taken.Load(), 0)
	})
}

// An answer goes by the actor, and may come behind a push that was read after it.
func TestAnOlderSnapshotReplacesNoNewerOne(t *testing.T) {
	now := time.Now()
	older, newer := &Snapshot{ReceivedAt: now}, &Snapshot{ReceivedAt: now.Add(1)}
	var p Pulse
	for _, c := range []struct{ kept, want *Snapshot }{{older, older}, {newer, newer}, {older, newer}, {nil, newer}} {
		if p.keep(c.kept); p.Snapshot() != c.want {
			t.Errorf("after %v it is %v", c.kept, p.Snapshot())
		}
	}
}
