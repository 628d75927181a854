package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func auditOptions(fleet, edge int) AuditOptions {
	return AuditOptions{FleetBuffer: fleet, EdgeBuffer: edge, IdempotencyWindow: time.Hour}
}

// put lists an operation "op<n>" of an Edge in a state.
func (l *oplog) put(n int, edgeID string, state OperationState) *entry {
	o := operationIn(state)
	o.ID, o.EdgeID, o.State = fmt.Sprintf("op%04d", n), edgeID, Pending
	e := l.add(o)
	next := *o
	next.State = state
	l.update(e, &next)
	return e
}

func (l *oplog) settle(e *entry, state OperationState) {
	next := *e.op
	next.State = state
	l.update(e, &next)
}

func (l *oplog) listed() (ids []string) {
	l.fleet.Scan(func(id string, _ *Operation) bool { ids = append(ids, id); return true })
	return ids
}

func TestFleetBound(t *testing.T) {
	l := newOplog(auditOptions(3, 100))
	l.put(1, "e1", Accepted)
	l.put(2, "e2", Succeeded)
	l.put(3, "e1", Failed)
	l.put(4, "e1", Sent) // the oldest terminal one goes, though an older record is there
	wantEqual(t, "listed", l.listed(), []string{"op0001", "op0003", "op0004"})
	l.put(5, "e1", Unknown) // unknown is not terminal
	l.put(6, "e2", Accepted)
	wantEqual(t, "no terminal one left: the oldest", l.listed(), []string{"op0004", "op0005", "op0006"})
	wantEqual(t, "dropped", []any{l.dropped, l.edges["e1"].dropped, l.edges["e2"].dropped}, []any{3, 2, 1})
}

func TestEdgeBound(t *testing.T) {
	l := newOplog(auditOptions(100, 2))
	l.put(1, "e1", Running)
	l.put(2, "e1", Cancelled)
	l.put(3, "e2", Succeeded)
	l.put(4, "e1", Accepted)
	wantEqual(t, "terminal first", l.listed(), []string{"op0001", "op0003", "op0004"})
	l.put(5, "e1", Rejected)
	wantEqual(t, "the new one itself, where it is the only terminal one", l.listed(), []string{"op0003", "op0004", "op0005"})
	wantEqual(t, "dropped", []any{l.edges["e1"].dropped, l.edges["e2"].dropped}, []any{2, 0})
}

func TestBytesBound(t *testing.T) {
	l := newOplog(auditOptions(10000, 10000))
	l.maxBytes = 64 << 10
	settleWith := func(n, result int) {
		e := l.put(n, "e1", Accepted)
		next := *e.op
		next.State, next.Result = Succeeded, json.RawMessage(strings.Repeat("x", result))
		l.update(e, &next)
	}
	for i := range 40 {
		settleWith(i, 4<<10)
		if l.bytes > l.maxBytes {
			t.Fatalf("%d bytes with %d records", l.bytes, l.fleet.Len())
		}
	}
	wantEqual(t, "listed", l.fleet.Len(), 14)
	settleWith(99, 65<<10)
	wantEqual(t, "one that is larger than all", l.listed(), []string{"op0099"})
	wantEqual(t, "bytes kept of others", l.kept, 0)
}

// What is under way is still settled when its record had to go, and then forgotten.
func TestUnderWayOutlivesItsRecord(t *testing.T) {
	l := newOplog(auditOptions(1, 1))
	e := l.put(1, "e1", Sent)
	l.put(2, "e1", Sent)
	wantEqual(t, "listed", l.listed(), []string{"op0002"})
	if l.entries["op0001"] != e {
		t.Fatal("forgotten while its caller waits")
	}
	l.settle(e, Succeeded)
	wantEqual(t, "listed", l.listed(), []string{"op0002"})
	wantEqual(t, "entries", len(l.entries), 1)
}

func TestKeys(t *testing.T) {
	l := newOplog(auditOptions(4, 2))
	key := func(n int, name string, at time.Time) *entry {
		e := l.put(n, "e1", Succeeded)
		l.setKey(name, [32]byte{byte(n)}, e, at)
		return e
	}
	first := key(1, "k1", at(0))
	if l.used("e1", "k1", at(1)).entry != first || l.used("e2", "k1", at(1)) != nil || l.used("e1", "k2", at(1)) != nil {
		t.Error("a key is its Edge's")
	}
	for n := 2; n < 20; n++ { // however many operations come after
		l.put(n, "e1", Succeeded)
	}
	use := l.used("e1", "k1", at(3600))
	if use == nil || use.entry.op.ID != "op0001" || use.fingerprint != [32]byte{1} {
		t.Fatal("gone within the window")
	}
	if l.used("e1", "k1", at(3600.1)) != nil || l.entries["op0001"] != nil {
		t.Error("kept beyond the window")
	}
	for n := 20; n < 26; n++ {
		key(n, fmt.Sprint("k", n), at(4000))
	}
	if l.used("e1", "k21", at(4001)) != nil || l.used("e1", "k22", at(4001)) == nil {
		t.Error("of more keys than the bound the oldest go")
	}
	wantEqual(t, "entries: two listed, two kept by their keys", len(l.entries), 4)
}

// A command refused before it is sent leaves no operation and no key, however many of them there are.
func TestRefusedOnesTakeNoPlace(t *testing.T) {
	l := newOplog(auditOptions(4, 2))
	kept := l.put(1, "e1", Succeeded)
	l.setKey("kept", [32]byte{}, kept, at(0))
	for n := 2; n < 1000; n++ {
		o := operationIn(Pending)
		o.ID, o.EdgeID = fmt.Sprintf("op%04d", n), "e2"
		e := l.add(o)
		l.setKey(fmt.Sprint("k", n), [32]byte{}, e, at(1))
		l.remove(e)
	}
	if l.used("e1", "kept", at(2)) == nil {
		t.Error("refused commands pushed a key out")
	}
	wantEqual(t, "entries, listed, keys, dropped", []any{len(l.entries), l.listed(), len(l.keys), l.dropped}, []any{1, []string{"op0001"}, 1, 0})
	if len(l.keyOrder) > 100 || len(l.edges) > 1 {
		t.Errorf("%d keys and %d Edges are remembered", len(l.keyOrder), len(l.edges))
	}
}

// Records that only their keys keep are bounded in bytes, too.
func TestKeptBytes(t *testing.T) {
	l := newOplog(auditOptions(10000, 1))
	l.maxBytes = 64 << 10
	for i := range 100 {
		o := operationIn(Pending)
		o.ID, o.Parameters = fmt.Sprintf("op%04d", i), json.RawMessage(strings.Repeat("x", 4<<10))
		e := l.add(o)
		l.setKey(fmt.Sprint(i), [32]byte{}, e, at(0))
		l.settle(e, Succeeded)
	}
	held := 0
	for _, e := range l.entries {
		held += e.op.bytes()
	}
	if held > 2*l.maxBytes || held != l.bytes+l.kept {
		t.Errorf("%d bytes held, %d listed and %d kept", held, l.bytes, l.kept)
	}
	if l.used("e1", "99", at(1)) == nil || l.used("e1", "90", at(1)) == nil || l.used("e1", "0", at(1)) != nil {
		t.Error("not the oldest keys went")
	}
}

// They are so too when they grow after they have left the lists.
func TestKeptBytesThatGrow(t *testing.T) {
	l := newOplog(auditOptions(10000, 1))
	l.maxBytes = 64 << 10
	var all []*entry
	for i := range 100 {
		e := l.put(i, "e1", Accepted)
		l.setKey(fmt.Sprint(i), [32]byte{}, e, at(0))
		all = append(all, e)
	}
	for _, e := range all[:99] {
		if l.entries[e.op.ID] == nil {
			continue // its key went
		}
		next := *e.op
		next.State, next.Result = Succeeded, json.RawMessage(strings.Repeat("x", 4<<10))
		l.update(e, &next)
		if l.kept > l.maxBytes {
			t.Fatalf("%d bytes are kept", l.kept)
		}
	}
	if l.used("e1", "98", at(1)) == nil || l.used("e1", "0", at(1)) != nil {
		t.Error("not the oldest keys went")
	}
}

func TestForgottenEdgesLeaveNoCounts(t *testing.T) {
	l := newOplog(auditOptions(2, 2))
	for i := range 500 {
		l.put(i, fmt.Sprint("e", i), Succeeded)
		l.forgetEdge(fmt.Sprint("e", i))
	}
	if len(l.edges) > 2 {
		t.Errorf("%d Edges are remembered", len(l.edges))
	}
}

// An Edge is known again when it is back, and not when it is sent something: that may be refused because it isn't known.
func TestForgottenUntilItIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		then func(l *oplog)
		want uint64 // 0: nothing is remembered
	}{
		"not":               {func(*oplog) {}, 0},
		"back":              {func(l *oplog) { l.edgeBack("e1", 7) }, 4},
		"back and gone":     {func(l *oplog) { l.edgeBack("e1", 7); l.forgetEdge("e1") }, 0},
		"sent in vain":      {func(l *oplog) { l.remove(l.add(&Operation{ID: "op0004", EdgeID: "e1", State: Pending})) }, 0},
		"back and sent one": {func(l *oplog) { l.edgeBack("e1", 7); l.put(4, "e1", Succeeded) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			l := newOplog(auditOptions(100, 2))
			for n := range 4 {
				l.put(n, "e1", Succeeded)
			}
			l.forgetEdge("e1")
			c.then(l)
			for l.edges["e1"] != nil && l.edges["e1"].ops.Len() > 0 { // as others' records come
				l.drop(oldestOf(&l.edges["e1"].ops))
			}
			got := uint64(0)
			if edge := l.edges["e1"]; edge != nil {
				got = edge.dropped
			}
			wantEqual(t, "dropped", got, c.want)
		})
	}
}

func TestUnsettled(t *testing.T) {
	l := newOplog(auditOptions(100, 100))
	for i, state := range allStates {
		l.put(i, "e1", state)
	}
	l.put(50, "e2", Sent)
	wantEqual(t, "sent and not terminal", l.unsettled("e1"), []string{"op0001", "op0002", "op0003", "op0009"})
	wantEqual(t, "of nobody", len(l.unsettled("e9")), 0)

	// One that is no longer listed, but kept because a key names it, is asked about too, until it is settled or its key is gone.
	l = newOplog(auditOptions(100, 1))
	for i, state := range []OperationState{Sent, Unknown, Sent} {
		e := l.put(i, "e1", state)
		l.setKey(e.op.ID, [32]byte{}, e, time.Now())
	}
	wantEqual(t, "listed or not", l.unsettled("e1"), []string{"op0000", "op0001", "op0002"})
	settled := *l.entries["op0000"].op
	settled.State = Succeeded
	l.update(l.entries["op0000"], &settled)
	wantEqual(t, "unless settled", l.unsettled("e1"), []string{"op0001", "op0002"})
	l.used("e1", "x", time.Now().Add(2*time.Hour)) // the keys go, and what is unknown with them
	wantEqual(t, "without keys", l.unsettled("e1"), []string{"op0002"})
}

func TestAuditPages(t *testing.T) {
	l := newOplog(auditOptions(4, 100))
	for i := 1; i <= 6; i++ {
		l.put(i, fmt.Sprint("e", i%2), map[bool]OperationState{true: Succeeded, false: Failed}[i > 3])
	}
	p := &operations{log: l}
	ids := func(q OperationQuery) string {
		page := p.audit(q.EdgeID).page(q)
		s := ""
		for _, o := range page.Operations {
			s += o.ID[5:] + " "
		}
		return fmt.Sprintf("%smore=%v dropped=%d", s, page.More, page.Dropped)
	}
	for name, c := range map[string]struct {
		q    OperationQuery
		want string
	}{
		"newest first":           {OperationQuery{Limit: 10}, "6 5 4 3 more=false dropped=2"},
		"a page":                 {OperationQuery{Limit: 3}, "6 5 4 more=true dropped=2"},
		"a page that fits":       {OperationQuery{Limit: 4}, "6 5 4 3 more=false dropped=2"},
		"the next one":           {OperationQuery{Limit: 3, Before: "op0004"}, "3 more=false dropped=2"},
		"before one that's gone": {OperationQuery{Limit: 3, Before: "op0002"}, "more=false dropped=2"},
		"before one not there":   {OperationQuery{Limit: 3, Before: "op00045"}, "4 3 more=false dropped=2"},
		"in a state":             {OperationQuery{Limit: 2, State: Succeeded}, "6 5 more=true dropped=2"},
		"the rest in it":         {OperationQuery{Limit: 2, State: Succeeded, Before: "op0005"}, "4 more=false dropped=2"},
		"of an Edge":             {OperationQuery{EdgeID: "e1", Limit: 10}, "5 3 more=false dropped=1"},
		"of nobody":              {OperationQuery{EdgeID: "e9", Limit: 10}, "more=false dropped=0"},
	} {
		t.Run(name, func(t *testing.T) { wantEqual(t, "page", ids(c.q), c.want) })
	}
	a := p.audit("")
	l.put(7, "e1", Succeeded)
	wantEqual(t, "a copy stays as it was", len(a.page(OperationQuery{Limit: 10}).Operations), 4)
}
