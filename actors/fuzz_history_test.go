package actors

import (
	"testing"
)

// FuzzEventID resumes after whatever a reader says it read last.
func FuzzEventID(f *testing.F) {
	h := newTestHistory(4, 2)
	h.run = "run"
	for _, what := range []string{"+e1", "+e2", "e1", "e1", "e1", "e2", "e1", "e1"} {
		f.Add(h.happen(what).ID())
	}
	h.happen("+e3")
	h.forget("e3")
	f.Add(eventID{"run", 9, 1, edgeHash("e3")}.String())
	for _, s := range []string{"", "-", "---", "run-0-0-0", "run-1-ffffffffffffffff-1", "run-ffffffffffffffff-1-1", "run--1-1-1", "run-+1-1-1", "run-1-1-1-1", "x-1-1-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := parseEventID(s)
		if again, same := parseEventID(id.String()); ok && (!same || again != id) {
			t.Fatalf("%q reads as %+v, which reads as %+v", s, id, again)
		}
		for _, edge := range []string{"", "e1", "e2", "e3", "nobody"} {
			page := h.page(EventQuery{EdgeID: edge, After: s, Limit: 100})
			kept := &h.fleet
			if edge != "" {
				kept = h.edges[edge]
			}
			if s == "" {
				continue // absent: the newest
			}
			switch {
			case (!ok || id.run != "run" || id.seq > h.seq) && (page.Gap == nil || page.Gap.Reason != Restarted):
				t.Fatalf("%q: no gap for an id that isn't of this run", s)
			case page.Gap != nil && page.Gap.Dropped != nil && *page.Gap.Dropped > kept.overwritten:
				t.Fatalf("%q: %d missing of %d", s, *page.Gap.Dropped, kept.overwritten)
			case page.Gap != nil && kept != nil && len(page.Events) != kept.count:
				t.Fatalf("%q: after a gap the list begins at the oldest kept", s)
			}
			for _, e := range page.Events {
				if page.Gap == nil && e.Seq <= id.seq {
					t.Fatalf("%q: lists %s again", s, e.ID())
				}
			}
		}
	})
}
