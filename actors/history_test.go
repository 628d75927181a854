package actors

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func newTestHistory(fleet, edge int) *history {
	return newHistory(HistoryOptions{FleetBuffer: fleet, EdgeBuffer: edge})
}

// happen adds an event; "+e1" is e1's edge_connected, with which its ring begins.
func (h *history) happen(what string) *Event {
	id, connected := strings.CutPrefix(what, "+")
	e := &Event{EdgeID: id, Kind: NodeReady}
	if connected {
		e.Kind = EdgeConnected
	}
	h.add(e, time.Now())
	return e
}

func messages(events []*Event) (list []string) {
	for _, e := range events {
		list = append(list, fmt.Sprintf("%s/%d", e.EdgeID, e.Seq))
	}
	return list
}

func gapText(g *Gap) string {
	switch {
	case g == nil:
		return "none"
	case g.Dropped == nil:
		return string(g.Reason) + " ?"
	default:
		return fmt.Sprintf("%s %d", g.Reason, *g.Dropped)
	}
}

func TestEventIDs(t *testing.T) {
	h := newTestHistory(100, 10)
	var ids []string
	for _, what := range []string{"+e1", "+e2", "e1", "e2", "e1"} {
		ids = append(ids, h.happen(what).ID())
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 5 {
		t.Errorf("not ordered and unique: %v", ids)
	}
	for i, id := range ids {
		if strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			t.Errorf("%s holds what a cursor may not", id)
		}
		parsed, ok := parseEventID(id)
		if !ok || parsed.String() != id || parsed.seq != uint64(i+1) {
			t.Errorf("%s parsed as %+v", id, parsed)
		}
	}
	if newTestHistory(1, 1).run == h.run {
		t.Error("two runs of the process have one name")
	}
}

func TestEventPages(t *testing.T) {
	h := newTestHistory(100, 10)
	for _, what := range []string{"+e1", "+e2", "e1", "e2", "e1"} {
		h.happen(what)
	}
	at := func(seq int) string { return h.fleet.at(seq - 1).ID() }
	for name, c := range map[string]struct {
		q    EventQuery
		want []string
		next string
	}{
		"the newest":               {EventQuery{Limit: 2}, []string{"e2/4", "e1/5"}, at(5)},
		"all":                      {EventQuery{Limit: 9}, []string{"e1/1", "e2/2", "e1/3", "e2/4", "e1/5"}, at(5)},
		"the first after":          {EventQuery{After: at(1), Limit: 2}, []string{"e2/2", "e1/3"}, at(3)},
		"after the last":           {EventQuery{After: at(5), Limit: 2}, nil, at(5)},
		"an Edge's newest":         {EventQuery{EdgeID: "e1", Limit: 2}, []string{"e1/3", "e1/5"}, at(5)},
		"an Edge's after":          {EventQuery{EdgeID: "e1", After: at(1), Limit: 1}, []string{"e1/3"}, at(3)},
		"an Edge's after another":  {EventQuery{EdgeID: "e1", After: at(2), Limit: 9}, []string{"e1/3", "e1/5"}, at(5)},
		"an Edge's after its last": {EventQuery{EdgeID: "e1", After: at(5), Limit: 9}, nil, at(5)},
		"an Edge without any":      {EventQuery{EdgeID: "e9", Limit: 9}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			page := h.page(c.q)
			wantEqual(t, "events", messages(page.Events), c.want)
			wantEqual(t, "gap", gapText(page.Gap), "none")
			wantEqual(t, "next", page.Next, c.next)
		})
	}
}

func TestEventGaps(t *testing.T) {
	h := newTestHistory(4, 2)
	ids := map[string]string{} // by edge/seq
	for _, what := range []string{"+e1", "+e2", "e1", "e1", "e1", "e2", "e1", "e1"} {
		e := h.happen(what)
		ids[messages([]*Event{e})[0]] = e.ID()
	}
	// The fleet's ring holds 5 to 8; e1's 7 and 8 of its 1, 3, 4, 5, 7, 8; e2's 2 and 6, which is all.
	other := newTestHistory(4, 2).happen("+e1").ID()
	made := eventID{h.run, 6, 2, edgeHash("e3")}.String()
	ahead := eventID{h.run, 99, 1, edgeHash("e1")}.String()
	for name, c := range map[string]struct {
		edge, after string
		gap         string
		want        []string
	}{
		"fleet: long gone":           {"", ids["e1/1"], "overwritten 3", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"fleet: the last gone":       {"", ids["e1/4"], "none", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"fleet: the last but one":    {"", ids["e1/3"], "overwritten 1", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"fleet: kept":                {"", ids["e2/6"], "none", []string{"e1/7", "e1/8"}},
		"edge: long gone":            {"e1", ids["e1/1"], "overwritten 3", []string{"e1/7", "e1/8"}},
		"edge: the last gone":        {"e1", ids["e1/5"], "none", []string{"e1/7", "e1/8"}},
		"edge: the last but one":     {"e1", ids["e1/4"], "overwritten 1", []string{"e1/7", "e1/8"}},
		"edge: another's, too old":   {"e1", ids["e2/2"], "overwritten ?", []string{"e1/7", "e1/8"}},
		"edge: another's, recent":    {"e1", ids["e2/6"], "none", []string{"e1/7", "e1/8"}},
		"edge: nothing ever dropped": {"e2", ids["e1/1"], "none", []string{"e2/2", "e2/6"}},
		"another run":                {"", other, "restarted ?", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"another run, an edge":       {"e1", other, "restarted ?", []string{"e1/7", "e1/8"}},
		"not yet":                    {"", ahead, "restarted ?", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"made up of a kept one":      {"", ids["e2/6"][:len(ids["e2/6"])-1] + "z", "restarted ?", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"made up, another hash":      {"", made, "restarted ?", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
		"no id at all":               {"", "hello", "restarted ?", []string{"e1/5", "e2/6", "e1/7", "e1/8"}},
	} {
		t.Run(name, func(t *testing.T) {
			page := h.page(EventQuery{EdgeID: c.edge, After: c.after, Limit: 100})
			wantEqual(t, "gap", gapText(page.Gap), c.gap)
			wantEqual(t, "events", messages(page.Events), c.want)
		})
	}
}

// An Edge that was forgotten and came back has a new ring; what the older one held is missing, nobody knows how much.
func TestGapOfAForgottenRing(t *testing.T) {
	h := newTestHistory(100, 2)
	old := h.happen("+e1").ID()
	foreign := h.happen("+e2").ID()
	h.happen("e1")
	h.forget("e1")
	wantEqual(t, "while it is unknown", gapText(h.page(EventQuery{EdgeID: "e1", After: old, Limit: 9}).Gap), "overwritten ?")
	h.happen("e1") // a late word of its operations: only the fleet hears it
	wantEqual(t, "rings", len(h.edges), 1)
	h.happen("+e1")
	for name, id := range map[string]string{"its own": old, "another's": foreign} {
		wantEqual(t, name, gapText(h.page(EventQuery{EdgeID: "e1", After: id, Limit: 9}).Gap), "overwritten ?")
	}
	recent := h.happen("e2").ID()
	for range 5 {
		h.happen("e1")
	}
	wantEqual(t, "older than the new ring", gapText(h.page(EventQuery{EdgeID: "e1", After: old, Limit: 9}).Gap), "overwritten ?")
	wantEqual(t, "younger than it", gapText(h.page(EventQuery{EdgeID: "e1", After: recent, Limit: 9}).Gap), "overwritten ?")
	wantEqual(t, "the fleet's", gapText(h.page(EventQuery{After: old, Limit: 9}).Gap), "none")
}

// Whatever happens, a page after an id is what a list without bounds would give, but for a gap that says how much is
// missing, or that this isn't known.
func TestHistoryAgainstAModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		h := newTestHistory(1+r.IntN(20), 1+r.IntN(8))
		var all []*Event
		for _, id := range []string{"e0", "e1", "e2"} {
			all = append(all, h.happen("+"+id))
		}
		for range r.IntN(60) {
			all = append(all, h.happen(fmt.Sprint("e", r.IntN(3))))
		}
		for range 50 {
			q := EventQuery{After: all[r.IntN(len(all))].ID(), Limit: 1000}
			if n := r.IntN(4); n < 3 {
				q.EdgeID = fmt.Sprint("e", n)
			}
			checkPage(t, h, all, q)
		}
	}
}

func checkPage(t *testing.T, h *history, all []*Event, q EventQuery) {
	t.Helper()
	after, _ := parseEventID(q.After)
	var want []*Event
	for _, e := range all {
		if e.Seq > after.seq && (q.EdgeID == "" || e.EdgeID == q.EdgeID) {
			want = append(want, e)
		}
	}
	page := h.page(q)
	missing := len(want) - len(page.Events)
	switch {
	case missing < 0 || !slices.Equal(page.Events, want[missing:]):
		t.Fatalf("%+v: got %v of %v", q, messages(page.Events), messages(want))
	case missing == 0 && page.Gap != nil:
		t.Fatalf("%+v: gap %s where nothing is missing", q, gapText(page.Gap))
	case missing > 0 && (page.Gap == nil || page.Gap.Dropped != nil && *page.Gap.Dropped != uint64(missing)):
		t.Fatalf("%+v: gap %s, want %d", q, gapText(page.Gap), missing)
	case missing > 0 && page.Gap.Dropped == nil && after.edge == edgeHash(q.EdgeID):
		t.Fatalf("%+v: how much is missing after an Edge's own id is known", q)
	}
}

func TestRingBounds(t *testing.T) {
	r := ring{max: 5, maxBytes: 1000} // an event without texts takes 240
	for i := range uint64(3) {
		r.add(&Event{Seq: i + 1})
	}
	wantEqual(t, "grown", len(r.events), 4)
	for i := range uint64(9) {
		r.add(&Event{Seq: i + 4})
	}
	wantEqual(t, "by bytes", []any{r.count, r.bytes, r.overwritten, r.lastGone}, []any{4, 960, 8, 8})
	r.add(&Event{Seq: 13, Message: strings.Repeat("x", 5000)})
	wantEqual(t, "one larger than the ring is kept alone", []any{r.count, r.overwritten, r.lastGone}, []any{1, 12, 12})
	wantEqual(t, "limit", len(r.slice(0, 0)), 0)
	wantEqual(t, "beyond the end", len(r.slice(5, 3)), 0)
}

func TestRingOfOne(t *testing.T) {
	h := newTestHistory(1, 1)
	first := h.happen("+e1")
	wantEqual(t, "nothing missing", gapText(h.page(EventQuery{After: first.ID(), Limit: 1}).Gap), "none")
	h.happen("e1")
	h.happen("e1")
	wantEqual(t, "one missing", gapText(h.page(EventQuery{After: first.ID(), Limit: 1}).Gap), "overwritten 1")
}

func BenchmarkHistoryAdd(b *testing.B) {
	h := newTestHistory(1<<16, 128)
	h.happen("+edge")
	b.ReportAllocs()
	for b.Loop() {
		h.add(&Event{EdgeID: "edge", Kind: NodeReady, Message: "ready"}, noon)
	}
}
