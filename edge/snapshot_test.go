package edge

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	iopv1 "iop/proto/iop/v1"
)

func TestSnapshotOnWire(t *testing.T) {
	at := time.Unix(1000, 5)
	s := snapshotOnWire("seoul-1", at, []Node{{
		ID: "gpu-1", Name: "one", Connected: true, Labels: map[string]string{"gpu": "h200"},
		Providers: []Provider{
			{ID: "p", Type: "vllm", Models: []string{"m"}, Status: Busy, Health: Degraded, General: Counters{8, 9, 1}, LongContext: Counters{2, 1, 3}},
			{ID: "q"},
		},
	}})
	n := s.Nodes[0]
	p, q := n.Providers[0], n.Providers[1]
	if s.EdgeId != "seoul-1" || !s.ObservedAt.AsTime().Equal(at) || n.NodeId != "gpu-1" || n.Name != "one" || !n.Connected || n.Labels["gpu"] != "h200" {
		t.Errorf("snapshot is %v", s)
	}
	if p.ProviderId != "p" || p.Type != "vllm" || p.Models[0] != "m" || p.Status != iopv1.ProviderStatus_PROVIDER_STATUS_BUSY ||
		p.Health != iopv1.ProviderHealth_PROVIDER_HEALTH_DEGRADED || p.General.Capacity != 8 || p.General.InFlight != 9 || p.General.Queued != 1 ||
		p.LongContext.Capacity != 2 || p.LongContext.InFlight != 1 || p.LongContext.Queued != 3 {
		t.Errorf("provider is %v", p)
	}
	if q.Status != 0 || q.Health != 0 {
		t.Errorf("what isn't known is told: %v", q)
	}
}

func TestAnyTextCanBeSent(t *testing.T) {
	bad := "a\xff\x00"
	s := snapshotOnWire("e", time.Now(), []Node{{ID: bad, Name: bad, Labels: map[string]string{bad: bad},
		Providers: []Provider{{ID: bad, Type: bad, Models: []string{bad}}}}})
	if _, err := proto.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestChangesBetween(t *testing.T) {
	online, offline := provider("p", Online, 1), provider("p", Offline, 0)
	busy := provider("p", Online, 8)
	busy.Status = Busy
	type change struct{ node, provider, kind string }
	for name, c := range map[string]struct {
		before, after []Node
		want          []change
	}{
		"nothing":               {nil, nil, nil},
		"the same":              {[]Node{node("a", true, online)}, []Node{node("a", true, online)}, nil},
		"numbers are no events": {[]Node{node("a", true, provider("p", Online, 1))}, []Node{node("a", true, provider("p", Online, 2))}, nil},
		"a first look":          {nil, []Node{node("a", true, online), node("b", false, offline)}, []change{{"a", "", "READY"}}},
		"ready":                 {[]Node{node("a", false)}, []Node{node("a", true)}, []change{{"a", "", "READY"}}},
		"not ready":             {[]Node{node("a", true)}, []Node{node("a", false)}, []change{{"a", "", "DISCONNECTED"}}},
		"gone":                  {[]Node{node("a", true), node("b", false)}, nil, []change{{"a", "", "DISCONNECTED"}}},
		"its last provider went": {[]Node{node("a", true, online)}, []Node{node("a", false, offline)},
			[]change{{"a", "", "DISCONNECTED"}, {"a", "p", "PROVIDER_CHANGED"}}},
		"one of two went": {[]Node{node("a", true, online, provider("q", Online, 0))}, []Node{node("a", true, offline, provider("q", Online, 0))},
			[]change{{"a", "p", "PROVIDER_CHANGED"}}},
		"busy":             {[]Node{node("a", true, online)}, []Node{node("a", true, busy)}, []change{{"a", "p", "PROVIDER_CHANGED"}}},
		"a new provider":   {[]Node{node("a", true)}, []Node{node("a", true, online)}, []change{{"a", "p", "PROVIDER_CHANGED"}}},
		"a provider less":  {[]Node{node("a", true, online)}, []Node{node("a", true)}, []change{{"a", "p", "PROVIDER_CHANGED"}}},
		"a new order":      {[]Node{node("a", true), node("b", false)}, []Node{node("b", false), node("a", true)}, nil},
		"two nodes at one": {[]Node{node("a", true), node("b", true)}, []Node{node("a", false), node("b", false)}, []change{{"a", "", "DISCONNECTED"}, {"b", "", "DISCONNECTED"}}},
	} {
		t.Run(name, func(t *testing.T) {
			at := time.Unix(7, 0)
			got := changesBetween(c.before, c.after, at)
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i, w := range c.want {
				g := got[i]
				if g.NodeId != w.node || g.ProviderId != w.provider || g.Kind.String() != "NODE_EVENT_KIND_"+w.kind || g.Message == "" || !g.OccurredAt.AsTime().Equal(at) {
					t.Errorf("event %d is %v, want %v", i, g, w)
				}
			}
		})
	}
}

func TestEqualNodes(t *testing.T) {
	same := func() Node {
		return Node{ID: "a", Name: "n", Connected: true, Labels: map[string]string{"k": "v"},
			Providers: []Provider{{ID: "p", Type: "t", Models: []string{"m"}, Status: Busy, Health: Online, General: Counters{1, 1, 1}, LongContext: Counters{1, 1, 1}}}}
	}
	for name, change := range map[string]func(*Node){
		"id": func(n *Node) { n.ID = "b" }, "name": func(n *Node) { n.Name = "" }, "connected": func(n *Node) { n.Connected = false },
		"labels": func(n *Node) { n.Labels = nil }, "providers": func(n *Node) { n.Providers = nil },
		"type": func(n *Node) { n.Providers[0].Type = "" }, "models": func(n *Node) { n.Providers[0].Models[0] = "x" },
		"status": func(n *Node) { n.Providers[0].Status = "" }, "health": func(n *Node) { n.Providers[0].Health = "" },
		"general": func(n *Node) { n.Providers[0].General.InFlight = 0 }, "long context": func(n *Node) { n.Providers[0].LongContext.Queued = 0 },
	} {
		n := same()
		change(&n)
		if equalNodes([]Node{same()}, []Node{n}) {
			t.Errorf("another %s isn't noticed", name)
		}
	}
	if !equalNodes([]Node{same()}, []Node{same()}) || equalNodes([]Node{same()}, nil) {
		t.Error("equal isn't equal")
	}
}
