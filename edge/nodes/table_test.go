package nodes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"iop/edge"
	iopv1 "iop/proto/iop/v1"
)

func provider(capacity, inFlight uint32) []edge.Provider {
	return []edge.Provider{{
		ID: "p", Type: "vllm", Models: []string{"m"}, Status: edge.Available, Health: edge.Online,
		General: edge.Counters{Capacity: capacity, InFlight: inFlight, Queued: 1}, LongContext: edge.Counters{Capacity: 2, InFlight: 1, Queued: 3},
	}}
}

// Each case is a row of steps by connections, and what each step comes to. Connections are named by letters; a claim
// gives the letter its token.
func TestOwnership(t *testing.T) {
	type step struct {
		by   string
		do   string // claim, answered, ready, update, close, restart
		want string // what comes of it: "" changed nothing, else stale, turn, changed, ready, lost, token, refused
		up   bool   // and whether the node is connected then
	}
	for name, steps := range map[string][]step{
		"connected only when ready": {
			{"a", "claim", "token", false}, {"a", "answered", "", false}, {"a", "ready", "ready", true}, {"a", "close", "lost", false}},
		"nothing out of turn": {
			{"a", "claim", "token", false}, {"a", "ready", "turn", false}, {"a", "update", "turn", false}, {"a", "answered", "", false},
			{"a", "answered", "turn", false}, {"a", "update", "turn", false}, {"a", "ready", "ready", true}, {"a", "ready", "turn", true},
			{"a", "update", "changed", true}},
		"an owner that never was ready goes without an event": {
			{"a", "claim", "token", false}, {"a", "close", "changed", false}, {"b", "claim", "token", false}, {"b", "answered", "", false},
			{"b", "close", "changed", false}},
		"a takeover is no loss, and its ready is an event": {
			{"a", "claim", "token", false}, {"a", "answered", "", false}, {"a", "ready", "ready", true},
			{"b", "claim", "token", false}, {"b", "answered", "", false}, {"a", "close", "stale", false}, {"b", "ready", "ready", true},
			{"a", "close", "stale", true}, {"b", "close", "lost", false}},
		"a takeover that comes to nothing is a loss": {
			{"a", "claim", "token", false}, {"a", "answered", "", false}, {"a", "ready", "ready", true},
			{"b", "claim", "token", false}, {"a", "close", "stale", false}, {"b", "close", "lost", false}, {"b", "close", "stale", false},
			{"c", "claim", "token", false}, {"c", "close", "changed", false}},
		"whoever lost its place says nothing more": {
			{"a", "claim", "token", false}, {"a", "answered", "", false}, {"b", "claim", "token", false}, {"a", "ready", "stale", false},
			{"b", "answered", "", false}, {"b", "ready", "ready", true}, {"a", "ready", "stale", true}, {"a", "update", "stale", true},
			{"a", "close", "stale", true}},
		"a refused claim owns nothing": {
			{"x", "refused", "refused", false}, {"a", "claim", "token", false}, {"a", "answered", "", false}, {"a", "ready", "ready", true},
			{"x", "answered", "stale", true}, {"x", "ready", "stale", true}, {"x", "close", "stale", true}, {"y", "refused", "refused", true},
			{"y", "close", "stale", true}},
		"a restart forgets the owner without a word": {
			{"a", "claim", "token", false}, {"a", "answered", "", false}, {"a", "ready", "ready", true}, {"", "restart", "", false},
			{"a", "update", "stale", false}, {"a", "close", "stale", false}, {"b", "claim", "token", false}, {"a", "close", "stale", false},
			{"b", "close", "changed", false}},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable([]Node{{ID: "n"}, {ID: "other"}})
			tokens := map[string]claimToken{}
			var last claimToken
			for i, s := range steps {
				got := ""
				switch s.do {
				case "claim", "refused":
					node := map[string]string{"claim": "n", "refused": "stranger"}[s.do]
					token, granted := table.claim(node, identity{})
					if token <= last {
						t.Errorf("step %d: token %d after %d", i, token, last)
					}
					last, tokens[s.by] = token, token
					got = map[bool]string{true: "token", false: "refused"}[granted]
				case "restart":
					table.restart()
				default:
					got = outcomeName(take(table, s.do, "n", tokens[s.by]))
				}
				up := table.nodes()[0].Connected
				if got != s.want || up != s.up {
					t.Fatalf("step %d, %s %s: %q and connected %v, want %q and %v", i, s.by, s.do, got, up, s.want, s.up)
				}
			}
			if table.nodes()[1].Connected {
				t.Error("the other node is connected")
			}
		})
	}
}

func take(table *table, do, nodeID string, token claimToken) outcome {
	switch do {
	case "answered":
		return table.answered(nodeID, token)
	case "ready":
		return table.ready(nodeID, token, provider(8, 1))
	case "update":
		return table.update(nodeID, token, provider(9, 2))
	case "close":
		return table.close(nodeID, token)
	}
	panic(do)
}

func outcomeName(o outcome) string {
	switch {
	case o.stale && o == outcome{stale: true}:
		return "stale"
	case o.outOfTurn && o == outcome{outOfTurn: true}:
		return "turn"
	case o == outcome{event: nodeReady, changed: true}:
		return "ready"
	case o == outcome{event: nodeLost, changed: true}:
		return "lost"
	case o == outcome{changed: true}:
		return "changed"
	case o == outcome{}:
		return ""
	}
	return "nonsense"
}

func TestANodeWithoutOwnerStaysInTheStatement(t *testing.T) {
	declared := edge.Provider{ID: "d", Type: "tgi", Models: []string{"declared"}}
	table := newTable([]Node{{ID: "n", Name: "N", Labels: map[string]string{"k": "ours"}, Providers: []edge.Provider{declared}}})
	off := func(id, kind string, models ...string) edge.Provider {
		return edge.Provider{ID: id, Type: kind, Models: models, Status: edge.Unavailable, Health: edge.Offline}
	}
	want := edge.Node{ID: "n", Name: "N", Announced: true, Labels: map[string]string{"k": "ours"}, Providers: []edge.Provider{off("d", "tgi", "declared")}}
	compare := func(when string) {
		t.Helper()
		if diff := cmp.Diff([]edge.Node{want}, table.nodes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	compare("before any agent")

	token, _ := table.claim("n", identity{name: "theirs", labels: map[string]string{"k": "theirs", "l": "theirs"}})
	want.Labels = map[string]string{"k": "ours", "l": "theirs"}
	compare("accepted")
	table.answered("n", token)
	table.ready("n", token, provider(8, 1))
	want.Connected = true
	want.Providers = append(want.Providers, provider(8, 1)...)
	compare("ready")
	refused := time.Unix(1000, 0)
	told := append(provider(9, 0), edge.Provider{ID: "d", Type: "tgi", Status: edge.Unavailable, Health: edge.Offline, General: edge.Counters{Capacity: 4}, LoadAt: refused})
	table.update("n", token, told)
	want.Providers[0].LoadAt = refused
	want.Providers[1] = provider(9, 0)[0]
	compare("updated: what is offline has no numbers, and keeps the declared models")
	table.close("n", token)
	want.Connected = false
	want.Providers[0].LoadAt = time.Time{}
	want.Providers[1] = off("p", "vllm", "m")
	compare("gone")

	token, _ = table.claim("n", identity{})
	table.answered("n", token)
	want.Labels = map[string]string{"k": "ours"}
	compare("pending again")
	table.ready("n", token, provider(9, 3))
	want.Connected = true
	want.Providers[1] = provider(9, 3)[0]
	compare("ready again")
	table.update("n", token, nil)
	want.Providers = want.Providers[:1]
	compare("a provider that isn't declared and not told any more is gone")
}

// What Nodes gave is never changed afterwards.
func TestStatementsStand(t *testing.T) {
	table := newTable([]Node{{ID: "n"}})
	token, _ := table.claim("n", identity{})
	table.answered("n", token)
	table.ready("n", token, provider(8, 1))
	before := table.nodes()
	table.update("n", token, provider(9, 2))
	table.close("n", token)
	if !before[0].Connected || before[0].Providers[0].General.Capacity != 8 {
		t.Errorf("it is now %v", before)
	}
}

func TestLoadsHaveTheirAges(t *testing.T) {
	now := time.Unix(1000, 0)
	load := func(id string, age time.Duration) *iopv1.NodeLoad {
		return &iopv1.NodeLoad{ProviderId: id, Age: durationpb.New(age)}
	}
	told := &iopv1.NodeUpdate{
		Providers: []*iopv1.EdgeProviderSnapshot{{ProviderId: "old"}, {ProviderId: "future"}, {ProviderId: "none"}, {ProviderId: "bad"}},
		Loads: []*iopv1.NodeLoad{load("old", time.Minute), load("future", -time.Minute), load("stranger", 0),
			{ProviderId: "bad", Age: &durationpb.Duration{Nanos: -1, Seconds: 1}}, {ProviderId: "none"}},
	}
	want := map[string]time.Time{"old": now.Add(-time.Minute), "future": now}
	for _, p := range providersOf(told, now) {
		if !p.LoadAt.Equal(want[p.ID]) {
			t.Errorf("the load of %s is of %v, want %v", p.ID, p.LoadAt, want[p.ID])
		}
	}
}
