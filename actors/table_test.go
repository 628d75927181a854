package actors

import (
	"fmt"
	"testing"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func tableOptions() TableOptions {
	return TableOptions{MaxConnections: 3, HeartbeatInterval: 15 * time.Second, MaxHeartbeatsPerSecond: 10,
		RetainDisconnected: time.Hour, RetainDisconnectedMax: 2}
}

// claimOf is a claim by an instance.
func claimOf(id, instance string) claim {
	return claim{hello: &iopv1.EdgeHelloRequest{EdgeId: id, InstanceId: instance}, pulse: &Pulse{}}
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func TestClaims(t *testing.T) {
	tb := newTable(tableOptions())
	first := tb.decide(claimOf("e1", "a"), at(0))
	wantEqual(t, "first", []any{first.granted.token, first.granted.Connections, first.superseded, first.granted.Connected}, []any{1, 1, nil, true})
	second := tb.decide(claimOf("e1", "a"), at(1))
	wantEqual(t, "second", []any{second.granted.token, second.granted.Connections, second.granted.Takeovers, second.superseded == first.granted},
		[]any{2, 2, 1, true})
	wantEqual(t, "owners", []any{tb.owns("e1", 1), tb.owns("e1", 2), tb.owns("e2", 2)}, []any{false, true, false})
	wantEqual(t, "connected", tb.connected, 1)
	if first.granted.Takeovers != 0 || !first.granted.Connected {
		t.Error("a View was changed in place")
	}

	if tb.release("e1", 1, ConnectionClosed, at(2)) != nil || tb.owner("e1") == nil {
		t.Error("an older token released the id")
	}
	gone := tb.release("e1", 2, Goodbye, at(3))
	wantEqual(t, "gone", []any{gone.Connected, gone.DisconnectReason, gone.DisconnectedAt.Equal(at(3)), gone.pid}, []any{false, Goodbye, true, nil})
	if tb.release("e1", 2, Goodbye, at(4)) != nil || tb.owns("e1", 2) || tb.owner("e1") != nil || tb.connected != 0 {
		t.Error("released twice, or not at all")
	}

	back := tb.decide(claimOf("e1", "b"), at(5)).granted
	wantEqual(t, "back", []any{back.token, back.Connections, back.Takeovers, back.DisconnectReason}, []any{3, 3, 1, ""})
}

func TestMaxConnections(t *testing.T) {
	tb := newTable(tableOptions())
	for i := range 3 {
		tb.decide(claimOf(fmt.Sprint("e", i), ""), at(0))
	}
	if v := tb.decide(claimOf("e9", ""), at(1)); !v.overloaded || v.granted != nil || tb.owner("e9") != nil {
		t.Errorf("over the limit: %+v", v)
	}
	if tb.decide(claimOf("e1", ""), at(1)).granted == nil {
		t.Error("a connected id couldn't take its own place")
	}
	tb.release("e0", 1, Goodbye, at(2))
	if tb.decide(claimOf("e9", ""), at(3)).granted == nil {
		t.Error("a place that became free wasn't given")
	}
	if !tb.decide(claimOf("e0", ""), at(4)).overloaded {
		t.Error("an id that isn't connected took a place that wasn't there")
	}
}

// Each case is a row of claims on one id, second by second, and what becomes of them: g(ranted), c(onflict, granted), x (refused).
func TestCloneRule(t *testing.T) {
	type step struct {
		at       float64
		instance string // "-" ends the present owner
		want     string
	}
	for name, steps := range map[string][]step{
		"the fifth taking makes it": {{0, "a", "g"}, {1, "b", "g"}, {2, "a", "g"}, {3, "b", "g"}, {4, "a", "g"}, {5, "b", "c"},
			{6, "a", "x"}, {64.9, "a", "x"}, {65, "a", "g"}},
		"four within 60 s, the fifth later":       {{0, "a", "g"}, {0, "b", "g"}, {20, "a", "g"}, {40, "b", "g"}, {59, "a", "g"}, {60.1, "b", "g"}},
		"the window slides":                       {{0, "a", "g"}, {0, "b", "g"}, {50, "a", "g"}, {55, "b", "g"}, {61, "a", "g"}, {62, "b", "g"}, {63, "a", "c"}},
		"one instance may take its own for ever":  {{0, "a", "g"}, {1, "a", "g"}, {2, "a", "g"}, {3, "a", "g"}, {4, "a", "g"}, {5, "a", "g"}, {6, "a", "g"}},
		"an empty instance equals an empty one":   {{0, "", "g"}, {1, "", "g"}, {2, "", "g"}, {3, "", "g"}, {4, "", "g"}, {5, "", "g"}, {6, "", "g"}},
		"and only that":                           {{0, "", "g"}, {1, "a", "g"}, {2, "", "g"}, {3, "a", "g"}, {4, "", "g"}, {5, "a", "c"}, {6, "", "x"}},
		"a claim after the end doesn't count":     {{0, "a", "g"}, {1, "b", "g"}, {2, "a", "g"}, {3, "b", "g"}, {4, "a", "g"}, {5, "-", ""}, {5, "b", "g"}, {6, "a", "c"}},
		"the owner's end ends the conflict":       {{0, "a", "g"}, {1, "b", "g"}, {2, "a", "g"}, {3, "b", "g"}, {4, "a", "g"}, {5, "b", "c"}, {6, "-", ""}, {7, "a", "g"}, {8, "b", "g"}},
		"the owner may come back in a conflict":   {{0, "a", "g"}, {1, "b", "g"}, {2, "a", "g"}, {3, "b", "g"}, {4, "a", "g"}, {5, "b", "c"}, {6, "b", "g"}, {7, "a", "x"}},
		"a further conflict needs as many again":  {{0, "a", "g"}, {1, "b", "g"}, {2, "a", "g"}, {3, "b", "g"}, {4, "a", "g"}, {5, "b", "c"}, {65, "a", "g"}, {66, "b", "g"}, {67, "a", "g"}, {68, "b", "g"}, {69, "a", "c"}},
		"three instances are as bad as two":       {{0, "a", "g"}, {1, "b", "g"}, {2, "c", "g"}, {3, "a", "g"}, {4, "b", "g"}, {5, "c", "c"}, {6, "a", "x"}},
		"same-instance claims between them don't": {{0, "a", "g"}, {1, "b", "g"}, {2, "b", "g"}, {3, "a", "g"}, {4, "a", "g"}, {5, "b", "g"}, {6, "a", "g"}, {7, "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(tableOptions())
			for i, st := range steps {
				if st.instance == "-" {
					tb.release("e1", tb.lastToken, ConnectionClosed, at(st.at))
					continue
				}
				v := tb.decide(claimOf("e1", st.instance), at(st.at))
				got := "x"
				switch {
				case v.conflict:
					got = "c"
				case v.granted != nil:
					got = "g"
				case v.fault.Code != wire.ResourceExhausted:
					t.Errorf("step %d: fault %v", i, v.fault)
				}
				if got != st.want {
					t.Errorf("step %d (%q at %v): %s, want %s", i, st.instance, st.at, got, st.want)
				}
			}
		})
	}
}

// Only taking from a live owner makes a conflict: who restarts again and again is never locked out by its own dead links.
func TestSilentOwnersMakeNoConflict(t *testing.T) {
	opts := tableOptions()
	opts.RejectDuplicates = true
	tb := newTable(opts)
	owner := tb.decide(claimOf("e1", "first"), at(0)).granted
	for i := range 3 * cloneTakings {
		c := claimOf("e1", fmt.Sprint(i))
		c.silentOwner = owner.token
		v := tb.decide(c, at(float64(i)))
		if v.granted == nil || v.conflict || !v.granted.ConflictUntil.IsZero() {
			t.Fatalf("restart %d: %+v", i, v)
		}
		owner = v.granted
	}
	wantEqual(t, "takeovers", owner.Takeovers, 3*cloneTakings)
	wantEqual(t, "takings kept", len(tb.takings), 0)
}

func TestRejectDuplicates(t *testing.T) {
	opts := tableOptions()
	opts.RejectDuplicates = true
	tb := newTable(opts)
	owner := tb.decide(claimOf("e1", "a"), at(0)).granted
	v := tb.decide(claimOf("e1", "b"), at(1))
	if v.askOwner != owner || v.granted != nil || !tb.owns("e1", owner.token) {
		t.Fatalf("another instance: %+v", v)
	}
	c := claimOf("e1", "b")
	c.silentOwner = owner.token
	v = tb.decide(c, at(4))
	if v.granted == nil || v.superseded != owner {
		t.Fatalf("a silent owner kept its place: %+v", v)
	}
	third := claimOf("e1", "c")
	third.silentOwner = owner.token
	if got := tb.decide(third, at(4)); got.askOwner != v.granted {
		t.Errorf("an older owner's silence counted against the present one: %+v", got)
	}
	if tb.decide(claimOf("e1", "b"), at(5)).granted == nil {
		t.Error("the same instance was refused")
	}
}

// Each case: who goes when, and who is forgotten at a moment.
func TestRetention(t *testing.T) {
	type leave struct {
		id string
		at float64
	}
	for name, c := range map[string]struct {
		retain time.Duration
		most   int
		leave  []leave
		at     float64
		want   []string
	}{
		"in time and number":        {time.Hour, 2, []leave{{"e0", 1}, {"e1", 2}}, 3600, nil},
		"too old":                   {time.Hour, 2, []leave{{"e0", 1}, {"e1", 2}}, 3601.5, []string{"e0"}},
		"too many, the oldest go":   {time.Hour, 2, []leave{{"e2", 1}, {"e1", 2}, {"e0", 3}}, 3, []string{"e2"}},
		"no time: at once":          {0, 2, []leave{{"e0", 1}}, 1, []string{"e0"}},
		"no number: at once":        {time.Hour, 0, []leave{{"e0", 1}}, 1, []string{"e0"}},
		"many at once, oldest gone": {time.Hour, 1, []leave{{"e0", 1}, {"e1", 1}, {"e2", 1}}, 1, []string{"e0", "e1"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := tableOptions()
			opts.RetainDisconnected, opts.RetainDisconnectedMax = c.retain, c.most
			tb := newTable(opts)
			for i := range 3 {
				tb.decide(claimOf(fmt.Sprint("e", i), ""), at(0))
			}
			for _, l := range c.leave {
				v, _ := tb.views.Get(l.id)
				tb.release(l.id, v.token, Goodbye, at(l.at))
			}
			wantEqual(t, "forgotten", tb.expire(at(c.at)), c.want)
			wantEqual(t, "left", tb.views.Len(), 3-len(c.want))
			wantEqual(t, "forgotten again", tb.expire(at(c.at)), []string(nil))
		})
	}
}

// An Edge that comes back counts anew from its next end, and its comings and goings leave nothing behind.
func TestRetentionOfOneThatComesAndGoes(t *testing.T) {
	tb := newTable(tableOptions())
	for i := range 1000 {
		v := tb.decide(claimOf("e1", fmt.Sprint(i)), at(float64(i)))
		tb.release("e1", v.granted.token, ConnectionClosed, at(float64(i)+0.5))
		if f := tb.expire(at(float64(i) + 0.5)); f != nil {
			t.Fatalf("forgot %v", f)
		}
	}
	if len(tb.gone) > 100 || len(tb.takings) > 1 {
		t.Errorf("%d entries for one Edge", len(tb.gone))
	}
	if f := tb.expire(at(999.5 + 3599)); f != nil {
		t.Errorf("forgot %v before its time", f)
	}
	wantEqual(t, "forgotten", tb.expire(at(999.5+3600)), []string{"e1"})
	for range 3 {
		tb.decide(claimOf("e2", "a"), at(5000))
		tb.decide(claimOf("e2", "b"), at(5000))
	}
	tb.forgetTakings(at(5061))
	wantEqual(t, "takings kept", len(tb.takings), 0)
}

func TestHeartbeatStretch(t *testing.T) {
	for connected, want := range map[int]time.Duration{
		0: 15 * time.Second, 1: 15 * time.Second, 150: 15 * time.Second, 151: 16 * time.Second, 160: 16 * time.Second,
		1000: 100 * time.Second, 2999: 300 * time.Second, 3000: 300 * time.Second, 100000: 5 * time.Minute,
	} {
		tb := newTable(tableOptions()) // 10 a second
		tb.connected = connected
		wantEqual(t, fmt.Sprint(connected), tb.heartbeatInterval(), want)
	}
	opts := tableOptions()
	opts.HeartbeatInterval, opts.MaxHeartbeatsPerSecond = 200*time.Millisecond, 4000
	for connected, want := range map[int]time.Duration{1: 200 * time.Millisecond, 800: 200 * time.Millisecond, 801: time.Second} {
		tb := newTable(opts)
		tb.connected = connected
		wantEqual(t, fmt.Sprint("under a second: ", connected), tb.heartbeatInterval(), want)
	}
	opts = tableOptions()
	opts.HeartbeatInterval = 10 * time.Minute
	wantEqual(t, "a configured interval stays", newTable(opts).heartbeatInterval(), 10*time.Minute)
}

func TestConflictSentence(t *testing.T) {
	s := conflictSentence(verdict{superseded: &View{InstanceID: "old"}, granted: &View{InstanceID: "new"}})
	wantEqual(t, "sentence", s, `instances "old" and "new" took this edge_id from each other 5 times within 1m0s; "new" stays`)
}

func BenchmarkTableDecide(b *testing.B) {
	opts := tableOptions()
	opts.MaxConnections = 10000
	tb := newTable(opts)
	claims := make([]claim, 10000)
	for i := range claims {
		claims[i] = claimOf(fmt.Sprintf("edge-%05d", i), "a")
		tb.decide(claims[i], noon)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tb.decide(claims[i%len(claims)], noon)
	}
}
