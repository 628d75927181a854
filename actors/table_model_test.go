package actors

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// modelTable is the table's rules written down as naively as can be: every claim ever granted, looked through each time.
type modelTable struct {
	opts   TableOptions
	grants []*modelGrant
	token  Token
}

type modelGrant struct {
	id, instance  string
	token         Token
	at            time.Time
	takenFrom     bool      // it took the id from a live owner of another instance
	endedAt       time.Time // zero: owns the id, or was superseded
	superseded    bool
	conflictUntil time.Time
	forgotten     bool
}

func (m *modelTable) owner(id string) *modelGrant {
	for _, g := range m.grants {
		if g.id == id && !g.superseded && g.endedAt.IsZero() {
			return g
		}
	}
	return nil
}

func (m *modelTable) connected() (n int) {
	for _, g := range m.grants {
		if !g.superseded && g.endedAt.IsZero() {
			n++
		}
	}
	return n
}

// decide says "granted", "conflict", "refused", "ask" or "full".
func (m *modelTable) decide(id, instance string, silent Token, now time.Time) string {
	old := m.owner(id)
	g := &modelGrant{id: id, instance: instance, at: now}
	verdict := "granted"
	switch {
	case old == nil && m.connected() >= m.opts.MaxConnections:
		return "full"
	case old == nil:
	case old.instance == instance:
		g.conflictUntil = old.conflictUntil
	case now.Before(old.conflictUntil):
		return "refused"
	case m.opts.RejectDuplicates && silent != old.token:
		return "ask"
	case silent == old.token: // it isn't alive
		g.conflictUntil = old.conflictUntil
	default:
		g.takenFrom = true
		g.conflictUntil = old.conflictUntil
		if m.takings(id, now) == cloneTakings-1 {
			g.conflictUntil = now.Add(cloneWindow)
			verdict = "conflict"
		}
	}
	if old != nil {
		old.superseded = true
	}
	m.token++
	g.token = m.token
	m.grants = append(m.grants, g)
	return verdict
}

// takings counts those within the window since the last conflict, or since the Edge was forgotten.
func (m *modelTable) takings(id string, now time.Time) (n int) {
	for _, g := range m.grants {
		if g.id != id {
			continue
		}
		if g.takenFrom && now.Sub(g.at) <= cloneWindow {
			n++
		}
		if g.forgotten || g.takenFrom && g.conflictUntil.Equal(g.at.Add(cloneWindow)) {
			n = 0
		}
	}
	return n
}

func (m *modelTable) release(id string, token Token, now time.Time) bool {
	g := m.owner(id)
	if g == nil || g.token != token {
		return false
	}
	g.endedAt = now
	return true
}

// gone lists who is listed as disconnected, in the order in which they went.
func (m *modelTable) gone() (list []*modelGrant) {
	for _, g := range m.grants {
		last := true
		for _, h := range m.grants {
			last = last && (h.id != g.id || h.token <= g.token)
		}
		if last && !g.endedAt.IsZero() && !g.forgotten {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b *modelGrant) int { return a.endedAt.Compare(b.endedAt) })
	return list
}

func (m *modelTable) expire(now time.Time) (forgotten []string) {
	list := m.gone()
	for len(list) > 0 && (len(list) > m.opts.RetainDisconnectedMax || now.Sub(list[0].endedAt) >= m.opts.RetainDisconnected) {
		list[0].forgotten = true
		forgotten = append(forgotten, list[0].id)
		list = list[1:]
	}
	return forgotten
}

func verdictText(v verdict) string {
	switch {
	case v.conflict:
		return "conflict"
	case v.granted != nil:
		return "granted"
	case v.askOwner != nil:
		return "ask"
	case v.overloaded:
		return "full"
	default:
		return "refused"
	}
}

func TestTableAgainstAModel(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		opts := TableOptions{MaxConnections: 2 + r.IntN(4), RejectDuplicates: seed%3 == 0, HeartbeatInterval: time.Second, MaxHeartbeatsPerSecond: 1,
			RetainDisconnected: time.Duration(r.IntN(100)) * time.Second, RetainDisconnectedMax: r.IntN(4)}
		tb, m := newTable(opts), &modelTable{opts: opts}
		now := noon
		for range 200 {
			// Strictly later each time: who goes in one instant goes in the order of the calls, which the model doesn't know.
			now = now.Add(time.Duration(1+r.IntN(1<<uint(r.IntN(16)))) * time.Millisecond)
			id := fmt.Sprint("e", r.IntN(6))
			switch r.IntN(6) {
			case 0, 1, 2, 3:
				c := claimOf(id, fmt.Sprint(r.IntN(3)))
				if v := tb.owner(id); v != nil && r.IntN(2) == 0 {
					c.silentOwner = v.token
				}
				want := m.decide(id, c.hello.InstanceId, c.silentOwner, now)
				seen[want]++
				if got := verdictText(tb.decide(c, now)); got != want {
					t.Fatalf("seed %d: a claim was %s, want %s", seed, got, want)
				}
			case 4:
				token := tb.lastToken - min(tb.lastToken, Token(r.IntN(5)))
				if got, want := tb.release(id, token, Goodbye, now) != nil, m.release(id, token, now); got != want {
					t.Fatalf("seed %d: released %v, want %v", seed, got, want)
				}
			case 5:
				forgotten := m.expire(now)
				seen["forgotten"] += len(forgotten)
				if got := tb.expire(now); !slices.Equal(got, forgotten) {
					t.Fatalf("seed %d: forgot %v, want %v", seed, got, forgotten)
				}
			}
			if connected, gone := m.connected(), len(m.gone()); tb.connected != connected || tb.views.Len() != connected+gone {
				t.Fatalf("seed %d: %d connected of %d, want %d of %d", seed, tb.connected, tb.views.Len(), connected, connected+gone)
			}
		}
	}
	for _, what := range []string{"granted", "conflict", "refused", "ask", "full", "forgotten"} {
		if seen[what] < 10 {
			t.Errorf("%s was seen %d times only", what, seen[what])
		}
	}
}
