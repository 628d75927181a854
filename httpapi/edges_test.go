package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"iop/actors"
	"iop/wire"
)

func TestEdgeView(t *testing.T) {
	full := connectedEdge("seoul-1", site("seoul-1", time.Now().Add(-3*time.Second)))
	full.Labels = actors.NewLabels(map[string]string{"zone": "b", "region": "kr", `q"`: "\x01"})
	full.Operations = actors.NewOperationNames([]string{"node.drain"})
	full.Takeovers, full.ConflictUntil = 2, time.Now().Add(time.Minute)
	bare := &actors.View{EdgeID: "bare", Pulse: actors.NewPulse(0, 0, nil)}
	s := newServer(&fakePlane{views: []*actors.View{full, bare, goneEdge("gone", nil), staleEdge("quiet", nil)}})

	o := do(s, http.MethodGet, "/edges/seoul-1", "").want(t)
	wantAt(t, o, "edge_id", "seoul-1", "name", "Edge seoul-1", "version", "0.1", "instance_id", "i-1", "labels", `{"q\"":"\u0001","region":"kr","zone":"b"}`,
		"operations", `["node.drain"]`, "state", "connected", "connected", "true", "disconnected_at", "null", "disconnect_reason", "null",
		"connections", "1", "takeovers", "2", "conflict", "true", "heartbeat_interval_ms", "15000", "clock_skew_ms", "null")
	if age := o["snapshot_age_ms"].(float64); age < 3000 || age > 10_000 {
		t.Errorf("snapshot_age_ms %v", age)
	}
	for _, key := range []string{"connected_at", "last_seen_at"} {
		if at, err := time.Parse(time.RFC3339Nano, o[key].(string)); err != nil || !strings.HasSuffix(o[key].(string), "Z") || time.Since(at) > 2*time.Hour {
			t.Errorf("%s is %v", key, o[key])
		}
	}
	wantAt(t, do(s, http.MethodGet, "/edges/bare", "").want(t), "name", "null", "version", "null", "instance_id", "null", "labels", "{}",
		"operations", "[]", "snapshot_age_ms", "null", "connected_at", "null", "state", "disconnected")
	wantAt(t, do(s, http.MethodGet, "/edges/gone", "").want(t), "state", "disconnected", "connected", "false",
		"disconnect_reason", "heartbeat_timeout", "conflict", "false")
	wantAt(t, do(s, http.MethodGet, "/edges/quiet", "").want(t), "state", "stale", "connected", "true")
	do(s, http.MethodGet, "/edges/nobody", "").wantProblem(t, wire.EdgeNotFound)

	failing := newServer(&fakePlane{fleetFault: &wire.Fault{Code: wire.Internal, Message: "slow"}})
	do(failing, http.MethodGet, "/edges/x", "").wantProblem(t, wire.Internal)
	do(failing, http.MethodGet, "/edges", "").wantProblem(t, wire.Internal)
}

// crowd is n Edges with every third one stale and every fifth one gone, labelled with their zone.
func crowd(n int) []*actors.View {
	var views []*actors.View
	for i := range n {
		id := fmt.Sprintf("e-%04d", i)
		v := connectedEdge(id, nil)
		switch {
		case i%5 == 0:
			v = goneEdge(id, nil)
		case i%3 == 0:
			v = staleEdge(id, nil)
		}
		v.Labels = actors.NewLabels(map[string]string{"zone": fmt.Sprint(i % 2), "all": "yes"})
		views = append(views, v)
	}
	return views
}

// TestEdgeCursor: a page begins after its cursor, whether that Edge is still there or not, and however it lies to the prefix.
func TestEdgeCursor(t *testing.T) {
	var views []*actors.View
	for _, id := range []string{"a", "b-1", "b-2", "b-4", "c"} {
		views = append(views, connectedEdge(id, nil))
	}
	s := newServer(&fakePlane{views: views})
	for _, c := range []struct{ prefix, last, want string }{
		{"", "a", "b-1 b-2 b-4 c"},
		{"", "b-3", "b-4 c"},
		{"", "c", ""},
		{"", "d", ""},
		{"b-", "a", "b-1 b-2 b-4"},
		{"b-", "b-2", "b-4"},
		{"b-", "b-3", "b-4"},
		{"b-", "b-4", ""},
		{"b-", "c", ""},
		{"b-3", "a", ""},
	} {
		o := do(s, http.MethodGet, "/edges?prefix="+c.prefix+"&cursor="+(&edgePlace{last: c.last}).encode(), "").want(t)
		if got := strings.Join(ids(o["edges"]), " "); got != c.want {
			t.Errorf("%q after %q: %q, want %q", c.prefix, c.last, got, c.want)
		}
		total := 0
		for _, v := range views {
			if strings.HasPrefix(v.EdgeID, c.prefix) {
				total++
			}
		}
		wantAt(t, o, "total", fmt.Sprint(total))
	}
}

// TestEdgeCounts: a page without a filter goes by how many Edges its cursor says were stale, if that is of this process and not too old.
// All else is as it is now.
func TestEdgeCounts(t *testing.T) {
	plane := &fakePlane{views: crowd(30)}
	s := newServer(plane)
	counted := do(s, http.MethodGet, "/edges?limit=10", "").want(t)
	cursor := counted["next_cursor"].(string)
	filtered := do(s, http.MethodGet, "/edges?limit=10&label=all=yes", "").want(t)
	if place := queryOf("cursor=" + filtered["next_cursor"].(string)).edgeCursor(); place.run == s.run {
		t.Errorf("what a filtered list counts goes on as %+v", place)
	}
	plane.views = append(plane.views, connectedEdge("zz", nil))
	for name, c := range map[string]struct {
		query  string
		change func(*edgePlace)
		want   string // total, connected, stale, disconnected
		next   string // whether the next page goes by it, and how many are stale
	}{
		"no filter":             {"", func(*edgePlace) {}, "31 5 20 6", "true 20"},
		"more than there are":   {"", func(p *edgePlace) { p.stale = 1000 }, "31 0 25 6", "true 1000"},
		"some have gone":        {"", func(p *edgePlace) { p.connected = 25 + 12 }, "31 17 8 6", "true 20"},
		"more than all gone":    {"", func(p *edgePlace) { p.connected = 1000 }, "31 25 0 6", "true 20"},
		"too old":               {"", func(p *edgePlace) { p.at -= int64(countHolds) + int64(time.Hour) }, "31 17 8 6", "true 8"},
		"of an earlier process": {"", func(p *edgePlace) { p.run++ }, "31 17 8 6", "true 8"},
		"labels":                {"&label=all=yes", func(*edgePlace) {}, "30 16 8 6", "false 8"},
		"a state":               {"&state=stale", func(*edgePlace) {}, "8 0 8 0", ""},
		"a prefix":              {"&prefix=zz", func(*edgePlace) {}, "1 1 0 0", ""},
	} {
		place := queryOf("cursor=" + cursor).edgeCursor()
		if place == nil || place.stale != 8 {
			t.Fatalf("the cursor is %+v", place)
		}
		place.stale = 20 // to be told from what is counted
		c.change(place)
		o := do(s, http.MethodGet, "/edges?limit=10"+c.query+"&cursor="+place.encode(), "").want(t)
		if got := fmt.Sprint(o["total"], o["connected"], o["stale"], o["disconnected"]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if next, more := o["next_cursor"].(string); more {
			after := queryOf("cursor=" + next).edgeCursor()
			if got := fmt.Sprint(after.run == s.run, after.stale); got != c.next {
				t.Errorf("%s: the next page goes by %s, want %s", name, got, c.next)
			}
		}
	}
}

// pages follows next_cursor to the end and gives each page.
func pages(t *testing.T, s *Server, target string, between func(page int)) []map[string]any {
	t.Helper()
	var all []map[string]any
	for cursor := ""; len(all) < 1000; {
		o := do(s, http.MethodGet, target+"&cursor="+cursor, "").want(t)
		all = append(all, o)
		next, more := o["next_cursor"].(string)
		if !more {
			return all
		}
		if !isToken(next) {
			t.Fatalf("cursor %q", next)
		}
		cursor = next
		between(len(all))
	}
	t.Fatal("the pages don't end")
	return nil
}

func ids(list any) []string {
	var out []string
	for _, x := range list.([]any) {
		out = append(out, x.(map[string]any)["edge_id"].(string))
	}
	return out
}

func TestEdgeListFilters(t *testing.T) {
	s := newServer(&fakePlane{views: append(crowd(30), connectedEdge("zz", nil))})
	for query, want := range map[string][]string{ // total, connected, stale, disconnected, listed
		"":                              {"31", "17", "8", "6", "31"},
		"prefix=e-":                     {"30", "16", "8", "6", "30"},
		"prefix=e-002":                  {"10", "5", "3", "2", "10"},
		"prefix=nobody":                 {"0", "0", "0", "0", "0"},
		"state=connected":               {"17", "17", "0", "0", "17"},
		"state=stale&limit=3":           {"8", "0", "8", "0", "3"},
		"state=disconnected":            {"6", "0", "0", "6", "6"},
		"label=zone%3D1&label=all=yes":  {"15", "8", "4", "3", "15"},
		"label=zone%3D1&label=zone%3D0": {"0", "0", "0", "0", "0"},
		"label=zone%3D":                 {"0", "0", "0", "0", "0"},
		"limit=31":                      {"31", "17", "8", "6", "31"},
	} {
		o := do(s, http.MethodGet, "/edges?"+query, "").want(t)
		wantAt(t, o, "total", want[0], "connected", want[1], "stale", want[2], "disconnected", want[3])
		if n := fmt.Sprint(len(o["edges"].([]any))); n != want[4] {
			t.Errorf("%q lists %s, want %s", query, n, want[4])
		}
		if more := o["next_cursor"] != nil; more != (query == "state=stale&limit=3") {
			t.Errorf("%q: next_cursor %v", query, o["next_cursor"])
		}
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "state=nope", "label=novalue", "cursor=%21%21", "limit=1&limit=2",
		"prefix=a&prefix=b", "state=stale&state=stale", "cursor=" + encodeCursor(operationsCursor, []byte("x"))} {
		do(s, http.MethodGet, "/edges?"+query, "").wantProblem(t, wire.InvalidRequest)
	}
}

// Nobody who stays is lost or listed twice while others come and go between the pages.
func TestEdgeListPages(t *testing.T) {
	plane := &fakePlane{views: crowd(50)}
	s := newServer(plane)
	all := pages(t, s, "/edges?limit=7&prefix=e-", func(page int) {
		plane.views = slices.DeleteFunc(plane.views, func(v *actors.View) bool { return v.EdgeID == fmt.Sprintf("e-%04d", page*5) })
		plane.views = append(plane.views, connectedEdge(fmt.Sprintf("e-%04d-late", page), nil))
	})
	var got []string
	for _, page := range all {
		got = append(got, ids(page["edges"])...)
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("not in order, or twice: %v", got)
	}
	for _, v := range plane.views {
		if !strings.HasSuffix(v.EdgeID, "-late") && !slices.Contains(got, v.EdgeID) {
			t.Errorf("%s is lost", v.EdgeID)
		}
	}
}

func TestHeadWorksWhereverGetDoes(t *testing.T) {
	snapshot := site("x", time.Now())
	plane := everything(snapshot)
	s := newServer(plane)
	for _, rt := range s.routes() {
		if rt.method != http.MethodGet {
			continue
		}
		target := strings.NewReplacer("{id}", "x", "{operation_id}", "op").Replace(rt.pattern)
		get, head := do(s, http.MethodGet, target, ""), do(s, http.MethodHead, target, "")
		if get.Code != http.StatusOK || head.Code != get.Code || head.Header().Get("Content-Type") != get.Header().Get("Content-Type") {
			t.Errorf("%s: GET %d %s, HEAD %d %s", target, get.Code, get.Header().Get("Content-Type"), head.Code, head.Header().Get("Content-Type"))
		}
	}
	head := do(s, http.MethodHead, "/fleet/events", "", "Accept", streamType)
	if head.Code != http.StatusOK || head.Header().Get("Content-Type") != streamType || head.Body.Len() != 0 {
		t.Errorf("HEAD of the live stream: %d %s", head.Code, head.Header().Get("Content-Type"))
	}
}

// everything is a plane that answers everything, for the Edge x.
func everything(snapshot *actors.Snapshot) *fakePlane {
	op := &actors.Operation{ID: "op", EdgeID: "x", Operation: "o", State: actors.Succeeded, CreatedAt: time.Now()}
	return &fakePlane{
		views:     []*actors.View{connectedEdge("x", snapshot)},
		status:    func(string, time.Duration) actors.StatusReply { return answered(snapshot) },
		operation: func(string, string) (*actors.Operation, *wire.Fault) { return op, nil },
		operations: func(actors.OperationQuery) actors.OperationPage {
			return actors.OperationPage{Operations: []*actors.Operation{op}}
		},
		events: func(actors.EventQuery) actors.EventPage { return actors.EventPage{} },
		command: func(context.Context, *actors.CommandAsk) actors.CommandReply {
			return actors.CommandReply{Operation: op}
		},
		subscribe: func(string) *actors.Subscription {
			ended := make(chan *actors.LiveEvent)
			close(ended)
			return actors.NewSubscription(ended, func() bool { return false }, func() {})
		},
	}
}
