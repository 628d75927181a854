package actors

import (
	"testing"
)

func TestPendingCorrelates(t *testing.T) {
	p := pending{limit: 10}
	a, _ := p.add(&statusAsk{edgeID: "a"}, 100, 0)
	b, _ := p.add(commandID("b"), 100, 0)
	c, _ := p.add(&queryCommands{}, 100, 0)
	if a == 0 || a == b || b == c {
		t.Fatalf("ids %d, %d, %d", a, b, c)
	}
	if _, ok := p.take(77, 1); ok {
		t.Error("took what wasn't there")
	}
	r, ok := p.take(b, 1)
	wantEqual(t, "taken", []any{r.id, r.target, ok}, []any{b, commandID("b"), true})
	if _, ok = p.take(b, 1); ok {
		t.Error("taken twice")
	}
	if r, ok = p.take(a, 100); !ok || r.target.(*statusAsk).edgeID != "a" {
		t.Error("an answer at the deadline was refused")
	}
	if _, ok = p.take(c, 101); ok {
		t.Error("an answer after the deadline was taken")
	}
	wantEqual(t, "left", len(p.waiting), 0)
}

func TestPendingLimit(t *testing.T) {
	p := pending{limit: 2}
	first, _ := p.add(&statusAsk{}, 10, 0)
	p.add(commandID("x"), 20, 0)
	if _, ok := p.add(&statusAsk{}, 30, 5); ok {
		t.Error("over the limit")
	}
	if _, ok := p.add(&probeOwner{}, 30, 5); !ok {
		t.Error("what the Control Plane asks for itself was refused")
	}
	if _, ok := p.add(&statusAsk{}, 30, 11); !ok { // the first has timed out
		t.Error("a place whose request timed out wasn't given")
	}
	if _, ok := p.take(first, 12); ok {
		t.Error("a late answer was taken")
	}
	p.take(p.lastID, 12)
	if _, ok := p.add(&statusAsk{}, 30, 12); !ok {
		t.Error("an answered request kept its place")
	}
}

// An Edge that never answers what the Control Plane asks for itself doesn't make the list grow.
func TestPendingIsBounded(t *testing.T) {
	p := pending{limit: 10}
	for i := range int64(10_000) {
		p.add(&probeOwner{}, i+3, i)
	}
	if n := len(p.waiting); n > 10 {
		t.Errorf("%d requests are kept; 4 wait at a time", n)
	}
	if _, ok := p.take(p.lastID, 10_000); !ok {
		t.Error("one that waits was dropped")
	}
}

func TestPendingTakeAll(t *testing.T) {
	p := pending{limit: 10}
	p.add(commandID("timed out"), 10, 0)
	p.add(commandID("waits"), 20, 0)
	p.add(&queryCommands{}, 20, 0)
	all := p.takeAll(15)
	wantEqual(t, "taken", len(all), 2)
	for _, r := range all {
		if r.target == commandID("timed out") {
			t.Error("what timed out was given, too")
		}
	}
	wantEqual(t, "unanswered", p.unanswered(15), 0)
	if id, ok := p.add(&statusAsk{}, 20, 15); !ok || id != 4 {
		t.Errorf("id %d: they never repeat", id)
	}
}

// An idle Edge keeps no list, whatever there was before.
func TestPendingShrinks(t *testing.T) {
	p := pending{limit: 100}
	for range 50 {
		p.add(&statusAsk{}, 10, 0)
	}
	for id := range uint64(50) {
		p.take(id+1, 5)
	}
	if p.waiting != nil || p.counted != 0 {
		t.Errorf("%d of %d places kept", cap(p.waiting), p.counted)
	}
}
