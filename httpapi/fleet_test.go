package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// mixedFleet has four Edges that answer, one that is silent, one busy, one stale, and two that are gone, one of them with a
// young snapshot.
func mixedFleet(now time.Time) *fakePlane {
	plane := &fakePlane{}
	for i := range 4 {
		plane.views = append(plane.views, connectedEdge(fmt.Sprintf("f-%d", i), site("x", now.Add(-time.Duration(i)*time.Second))))
	}
	plane.views = append(plane.views, connectedEdge("f-4-silent", site("x", now.Add(-time.Hour))), connectedEdge("f-5-busy", nil),
		staleEdge("f-6-stale", site("x", now.Add(-6*time.Second))), goneEdge("f-7-gone", nil), goneEdge("f-8-gone", site("x", now.Add(-8*time.Second))))
	plane.gather = func(func(*actors.View) bool, time.Duration, time.Duration) actors.FleetReply {
		return actors.FleetReply{Fleet: actors.NewFleet(time.Now(), plane.views...),
			Faults: map[string]wire.Code{"f-4-silent": wire.EdgeTimeout, "f-5-busy": wire.EdgeBusy}}
	}
	return plane
}

func TestFleetTotals(t *testing.T) {
	s := newServer(mixedFleet(time.Now()))
	for _, path := range []string{"/fleet/status", "/fleet/summary"} {
		o := do(s, http.MethodGet, path, "").want(t)
		wantAt(t, o, "edges", `{"connected":6,"disconnected":2,"stale":1,"total":9}`, "answered", "6", "unanswered", "3",
			"fresh.edges", "5", "fresh.nodes", "10", "fresh.nodes_connected", "5", "fresh.providers", "10", "fresh.providers_available", "5",
			"fresh.general", `{"capacity":40,"free":25,"in_flight":15,"queued":5}`, "fresh.long_context", `{"capacity":10,"free":5,"in_flight":5,"queued":0}`,
			"stale.edges", "1", "stale.nodes_connected", "1", "stale.general.capacity", "8")
		if age := o["oldest_age_ms"].(float64); age < 8000 || age > 20_000 {
			t.Errorf("oldest_age_ms %v", age)
		}
		if at, err := time.Parse(timeLayout, o["at"].(string)); err != nil || time.Since(at) > time.Minute {
			t.Errorf("at %v", o["at"])
		}
	}
	summary := do(s, http.MethodGet, "/fleet/summary", "").want(t)
	if len(summary) != 7 {
		t.Errorf("the summary has %d members: %v", len(summary), summary)
	}
	status := do(s, http.MethodGet, "/fleet/status", "").want(t)
	wantAt(t, status, "statuses.0.source", "cached", "statuses.4.connected", "true", "statuses.5.connected", "false", "statuses.5.stale", "true", "next_cursor", "null",
		"errors", `[{"code":"edge_timeout","edge_id":"f-4-silent"},{"code":"edge_busy","edge_id":"f-5-busy"},{"code":"edge_disconnected","edge_id":"f-7-gone"}]`)
}

func TestFleetOfNobody(t *testing.T) {
	s := newServer(&fakePlane{views: []*actors.View{connectedEdge("x", nil)}})
	wantAt(t, do(s, http.MethodGet, "/fleet/status", "").want(t), "oldest_age_ms", "null", "statuses", "[]", "fresh.general.free", "0",
		"errors", `[{"code":"edge_timeout","edge_id":"x"}]`, "next_cursor", "null")
	s = newServer(&fakePlane{})
	wantAt(t, do(s, http.MethodGet, "/fleet/status", "").want(t), "edges.total", "0", "answered", "0", "unanswered", "0", "errors", "[]")
	wantAt(t, do(s, http.MethodGet, "/fleet/models", "").want(t), "models", "[]")
}

func TestFleetAsksAsItIsTold(t *testing.T) {
	var maxAge, timeout time.Duration
	plane := &fakePlane{views: crowd(10)}
	plane.gather = func(match func(*actors.View) bool, a, w time.Duration) actors.FleetReply {
		maxAge, timeout = a, w
		if match(plane.views[0]) || !match(plane.views[1]) {
			t.Error("the labels are not asked by")
		}
		return actors.FleetReply{Fleet: actors.NewFleet(time.Now(), plane.views...)}
	}
	s := newServer(plane)
	for _, path := range []string{"/fleet/status", "/fleet/summary", "/fleet/models"} {
		do(s, http.MethodGet, path+"?label=zone%3D1", "").want(t)
		if maxAge != 15*time.Second || timeout != 2*time.Second {
			t.Errorf("%s: max_age %v, timeout %v by default", path, maxAge, timeout)
		}
		do(s, http.MethodGet, path+"?label=zone%3D1&max_age=1m&timeout=30s", "").want(t)
		if maxAge != time.Minute || timeout != 30*time.Second {
			t.Errorf("%s: max_age %v, timeout %v", path, maxAge, timeout)
		}
		for _, query := range []string{"timeout=31s", "timeout=0", "max_age=-1s", "label=x", "max_age=1s&max_age=2s"} {
			do(s, http.MethodGet, path+"?"+query, "").wantProblem(t, wire.InvalidRequest)
		}
	}
	for _, query := range []string{"limit=0", "limit=1001", "cursor=x", "cursor=" + fleetPlace{run: s.run + 1, last: "x"}.encode()} {
		do(s, http.MethodGet, "/fleet/status?"+query, "").wantProblem(t, wire.InvalidRequest)
	}
}

// An Edge that answered is shown as live; all others as cached, also those that pushed a status meanwhile: one that wasn't asked, one
// that gave no answer, and one that is gone again. What was young enough when the request began stays so, however long the others took.
func TestFleetWaitsForTheOthers(t *testing.T) {
	began := time.Now()
	plane := &fakePlane{}
	plane.gather = func(_ func(*actors.View) bool, maxAge, _ time.Duration) actors.FleetReply {
		at := time.Now()
		later := at.Add(time.Millisecond)
		plane.views = []*actors.View{
			connectedEdge("asked", site("asked", later)),
			goneEdge("asked-gone", site("asked-gone", later)),
			connectedEdge("asked-silent", site("asked-silent", later)),
			connectedEdge("pushed", site("pushed", began.Add(-maxAge+time.Second))),
			connectedEdge("pushed-again", site("pushed-again", later)),
		}
		return actors.FleetReply{Fleet: actors.NewFleet(at.Add(5*time.Second), plane.views...), Asked: []string{"asked", "asked-gone", "asked-silent"},
			Faults: map[string]wire.Code{"asked-silent": wire.EdgeTimeout}}
	}
	s := newServer(plane)
	o := do(s, http.MethodGet, "/fleet/status", "").want(t)
	sources := map[string]string{}
	for _, status := range o["statuses"].([]any) {
		sources[at(status, "edge_id")] = at(status, "source")
	}
	wantAt(t, o, "answered", "5")
	if want := (map[string]string{"asked": "live", "asked-gone": "cached", "asked-silent": "cached", "pushed": "cached", "pushed-again": "cached"}); !maps.Equal(sources, want) {
		t.Errorf("sources %v, want %v", sources, want)
	}
}

// Statuses and errors share the limit and one order; only the first page asks; and totals are of all on every page.
func TestFleetPages(t *testing.T) {
	plane := mixedFleet(time.Now())
	gather, gathered := plane.gather, 0
	plane.gather = func(match func(*actors.View) bool, maxAge, timeout time.Duration) actors.FleetReply {
		gathered++
		return gather(match, maxAge, timeout)
	}
	s := newServer(plane)
	var order []string
	codes := map[string]string{}
	for i, page := range pages(t, s, "/fleet/status?limit=2", func(int) {}) {
		wantAt(t, page, "edges.total", "9", "answered", "6", "unanswered", "3", "fresh.edges", "5", "stale.edges", "1")
		statuses, errors := page["statuses"].([]any), page["errors"].([]any)
		if n := len(statuses) + len(errors); n != 2 && (i != 4 || n != 1) {
			t.Errorf("page %d has %d entries", i, n)
		}
		var both []string
		for _, e := range errors {
			codes[at(e, "edge_id")] = at(e, "code")
			both = append(both, at(e, "edge_id"))
		}
		for range statuses {
			both = append(both, "") // a fake snapshot names another Edge
		}
		order = append(order, both...)
	}
	if gathered != 1 {
		t.Errorf("Edges were asked %d times", gathered)
	}
	if len(order) != 9 {
		t.Errorf("%d entries over all pages", len(order))
	}
	if codes["f-4-silent"] != "edge_timeout" || codes["f-5-busy"] != "edge_busy" || codes["f-7-gone"] != "edge_disconnected" || len(codes) != 3 {
		t.Errorf("errors %v", codes)
	}
}

// A page is in order by edge_id, each Edge in one of the two lists, and a snapshot that ages past max_age between two pages stays
// acceptable, as it was for the first.
func TestFleetPagesKeepTheirMeasure(t *testing.T) { synctest.Test(t, fleetPagesKeepTheirMeasure) }

func fleetPagesKeepTheirMeasure(t *testing.T) {
	now := time.Now()
	plane := &fakePlane{}
	for i := range 6 {
		id := fmt.Sprintf("e-%d", i)
		plane.views = append(plane.views, connectedEdge(id, actors.NewSnapshot(id, &iopv1.EdgeStatusResponse{}, now.Add(-900*time.Millisecond))))
	}
	s := newServer(plane)
	var got []string
	for _, page := range pages(t, s, "/fleet/status?limit=4&max_age=1s", func(int) { time.Sleep(150 * time.Millisecond) }) {
		wantAt(t, page, "answered", "6", "unanswered", "0", "errors", "[]")
		got = append(got, ids(page["statuses"])...)
	}
	if !slices.Equal(got, []string{"e-0", "e-1", "e-2", "e-3", "e-4", "e-5"}) {
		t.Errorf("paged through %v", got)
	}
}

func TestGathersForget(t *testing.T) {
	var g gathers
	odd := map[string]wire.Code{"a": wire.EdgeBusy, "b": wire.EdgeTimeout}
	if n := g.keep(map[string]wire.Code{"b": wire.EdgeTimeout}); n != 0 || g.faults(n) != nil {
		t.Errorf("what can be told anyway was kept as %d", n)
	}
	first := g.keep(odd)
	if f := g.faults(first); len(f) != 1 || f["a"] != wire.EdgeBusy {
		t.Errorf("kept %v", f)
	}
	for range keptGathers {
		g.keep(odd)
	}
	if g.faults(first) != nil || g.faults(first+keptGathers) == nil || g.faults(first+1000) != nil {
		t.Error("the oldest is not forgotten, or the newest is")
	}
}

func TestModels(t *testing.T) {
	plane := &fakePlane{views: []*actors.View{goneEdge("gone", site("x", time.Now())), connectedEdge("old", site("x", time.Now().Add(-time.Hour)))}}
	for i := range 4 {
		id := fmt.Sprintf("f-%d", i)
		plane.views = append(plane.views, connectedEdge(id, site(id, time.Now())))
	}
	s := newServer(plane)
	o := do(s, http.MethodGet, "/fleet/models", "").want(t)
	wantAt(t, o, "models.0.model", "m-large", "models.0.edges", "4", "models.0.providers", "4", "models.0.providers_available", "4",
		"models.0.general", `{"capacity":32,"free":20,"in_flight":12,"queued":4}`,
		"models.1.model", "m-small", "models.1.edges", "4", "models.1.providers", "8", "models.1.providers_available", "4",
		"models.1.general", `{"capacity":32,"free":20,"in_flight":12,"queued":4}`, "models.1.long_context", `{"capacity":8,"free":4,"in_flight":4,"queued":0}`,
		"models.2", "absent")
	if strings.Contains(fmt.Sprint(o), "gone") {
		t.Error("a disconnected Edge's model is counted")
	}
}
