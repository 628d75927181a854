package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	"iop/client"
)

var update = flag.Bool("update", false, "write testdata/top anew")

func site(id string, inFlight, capacity, queued uint64, up bool) *client.Status {
	p := &client.Provider{ProviderID: "vllm-0", Status: "available", Health: "online", General: client.Counters{Capacity: capacity, InFlight: inFlight, Queued: queued}}
	s := &client.Status{EdgeID: id, Connected: true, Nodes: []*client.Node{{NodeID: "gpu-1", Connected: true, Providers: []*client.Provider{p}}}}
	if !up {
		s.Nodes = append(s.Nodes, &client.Node{NodeID: "gpu-2", Providers: []*client.Provider{p}})
	}
	return s
}

// sample is a fleet with something of everything.
func sample() *topModel {
	m := newTopModel(testApp())
	look := topLook{at: testNow, first: true, last: true}
	look.summary = &client.FleetSummary{Edges: client.EdgeCounts{Total: 12, Connected: 10, Stale: 1, Disconnected: 1}, Answered: 11, Unanswered: 1,
		Fresh: client.Totals{Edges: 11, Nodes: 12, NodesConnected: 11, Providers: 12, ProvidersAvailable: 11,
			General: client.Capacity{Counters: client.Counters{Capacity: 176, InFlight: 99, Queued: 7}, Free: 77}}}
	look.page = &client.FleetStatus{Errors: []client.EdgeFault{{EdgeID: "gone-1", Code: client.EdgeDisconnected}}}
	for i := range uint64(10) {
		look.page.Statuses = append(look.page.Statuses, site(fmt.Sprintf("site-%02d", i), i, 10, 0, i != 4))
	}
	look.page.Statuses = append(look.page.Statuses, site("an-edge-with-a-rather-long-name.seoul.example", 16, 16, 7, true))
	look.silent = []*client.Edge{
		{EdgeID: "gone-1", State: client.Disconnected, DisconnectedAt: before(90 * time.Second), DisconnectReason: ptr("heartbeat_timeout")},
		{EdgeID: "site-03", State: client.Stale, Connected: true, LastSeenAt: before(31 * time.Second)},
	}
	m.take(look)
	for i := range 30 {
		m.event(client.Update{Event: &client.Event{Kind: "provider_changed", EdgeID: ptr("site-01"), NodeID: ptr("gpu-1"), At: testNow.Local(), Message: ptr(fmt.Sprintf("No. %d is online, busy.", i))}})
	}
	m.event(client.Update{Gap: &client.Gap{Dropped: ptr(uint64(3)), Reason: "overwritten"}})
	return m
}

func init() { time.Local = time.UTC } // before any goroutine: time reads it without a lock

func TestTopPictures(t *testing.T) {
	empty := newTopModel(testApp())
	failed := newTopModel(testApp())
	failed.take(topLook{err: &client.Unreachable{Err: errors.New("no route to host")}})
	old := sample()
	old.at = testNow.Add(-time.Minute)
	old.take(topLook{err: &client.Problem{Code: client.ShuttingDown, Detail: "the Control Plane is stopping"}})
	for name, m := range map[string]*topModel{"sample": sample(), "empty": empty, "failed": failed, "old": old} {
		for _, size := range [][2]int{{110, 36}, {80, 24}, {60, 14}, {40, 8}, {20, 3}} {
			if name != "sample" && size[0] != 80 {
				continue
			}
			p := painter{width: size[0], height: size[1]}
			lines := p.render(m.picture())
			if len(lines) > p.height {
				t.Errorf("%s has %d lines in a height of %d", name, len(lines), p.height)
			}
			for _, line := range lines {
				if n := text.StringWidth(line); n > p.width {
					t.Errorf("%s in a width of %d has a line of %d: %s", name, p.width, n, line)
				}
			}
			golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), strings.Join(lines, "\n")+"\n")
		}
	}
}

// Colours change nothing but colours.
func TestTopColours(t *testing.T) {
	plain := (&painter{width: 80, height: 24}).render(sample().picture())
	coloured := (&painter{width: 80, height: 24, color: true}).render(sample().picture())
	for i, line := range coloured {
		if diff := cmp.Diff(plain[i], strings.TrimRight(text.StripEscape(line), " ")); diff != "" {
			t.Error(diff)
		}
		if opened := strings.Count(line, "\x1b["); opened > 0 && !strings.Contains(line, "\x1b[0m") && !strings.HasSuffix(line, "\x1b[39m…") && opened%2 != 0 {
			t.Errorf("a colour isn't ended in %q", line)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "top", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func TestShare(t *testing.T) {
	for lines := range 60 {
		for _, c := range [][3]int{{0, 0, 0}, {1, 1, 1}, {100, 100, 100}, {0, 100, 2}, {100, 0, 100}, {2, 3, 100}} {
			trouble, busiest, tail := share(lines, c[0], c[1], c[2])
			used := 0
			for i, n := range []int{trouble, busiest, tail} {
				if n < 0 || n > c[i] {
					t.Errorf("%d lines for %v: %d of part %d", lines, c, n, i)
				}
				if n > 0 {
					used += n + 2
				}
			}
			if used > lines {
				t.Errorf("%d lines for %v: %d are used", lines, c, used)
			}
			if c[0] == 100 && c[1] == 100 && c[2] == 100 && lines >= 12 && used != lines {
				t.Errorf("%d lines for %v: only %d are used", lines, c, used)
			}
		}
	}
}

func TestTopForgetsWhoIsGone(t *testing.T) {
	m := newTopModel(testApp())
	page := func(first, last bool, ids ...string) {
		look := topLook{at: testNow, first: first, last: last, summary: &client.FleetSummary{}, page: &client.FleetStatus{}}
		for _, id := range ids {
			look.page.Statuses = append(look.page.Statuses, site(id, 1, 2, 0, true))
		}
		m.take(look)
	}
	page(true, false, "a", "b")
	page(false, true, "c")
	page(true, false, "a")
	if len(m.busiest) != 3 {
		t.Errorf("in the middle of a round there are %d", len(m.busiest))
	}
	page(false, true, "c")
	if len(m.busiest) != 2 {
		t.Errorf("after it there are %d: %v", len(m.busiest), m.busiest)
	}
	for range mostTail + 5 {
		m.event(client.Update{Gap: &client.Gap{}})
	}
	if len(m.tail) != mostTail {
		t.Errorf("%d lines of the tail are kept", len(m.tail))
	}
}

// Of the Edges that are gone or silent only so many are fetched; the others are in trouble, too.
func TestTopShowsWhoIsGoneBeyondThoseFetched(t *testing.T) {
	gone := site("gone", 0, 2, 0, true)
	gone.Connected = false
	for name, c := range map[string]struct {
		more    map[client.State]int
		trouble string
		heading string
	}{
		"all are fetched: it is back": {nil, "never-seen: has no connection", "IN TROUBLE  (1)"},
		"others are gone":             {map[client.State]int{client.Disconnected: 1}, "gone: disconnected never-seen: disconnected", "IN TROUBLE  (2)"},
		"others are silent":           {map[client.State]int{client.Stale: 7}, "never-seen: has no connection", "IN TROUBLE  (1)  and 7 more that are silent"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTopModel(testApp())
			m.take(topLook{at: testNow, first: true, last: true, summary: &client.FleetSummary{}, more: c.more, page: &client.FleetStatus{
				Statuses: []*client.Status{gone, site("well", 1, 2, 0, true)}, Errors: []client.EdgeFault{{EdgeID: "never-seen", Code: client.EdgeDisconnected}}}})
			var trouble []string
			for _, e := range m.trouble {
				trouble = append(trouble, e.id+": "+e.trouble)
				if e.gone != (c.more[client.Disconnected] > 0) {
					t.Errorf("%s is gone: %t", e.id, e.gone)
				}
			}
			if got := strings.Join(trouble, " "); got != c.trouble || len(m.busiest) != 1 {
				t.Errorf("in trouble are %s; busy are %v", got, m.busiest)
			}
			if lines := (&painter{width: 80, height: 24}).render(m.picture()); !slices.Contains(lines, c.heading) {
				t.Errorf("%q isn't in %q", c.heading, lines)
			}
		})
	}
}

// A look that fails halfway loses no page: it is asked for again.
func TestTopAsksAgainForAPageThatWasLost(t *testing.T) {
	const empty = `{"edges":[],"total":0}`
	s := &scripted{answers: map[string][]string{
		"/fleet/status": {`{"statuses":[{"edge_id":"a"}],"next_cursor":"p2"}`, `{"statuses":[{"edge_id":"b"}],"next_cursor":"p3"}`,
			`{"statuses":[{"edge_id":"b"}],"next_cursor":"p3"}`, `{"statuses":[{"edge_id":"c"}],"next_cursor":null}`},
		"/edges": {empty, empty, "", `{"edges":[{"edge_id":"gone-1"}],"total":3,"disconnected":3}`, empty, empty},
	}}
	g := topGatherer{repo: s.repository(t)}
	m := newTopModel(testApp())
	failed, last := 0, false
	for !last {
		look := g.look(t.Context())
		if last = look.last; look.err != nil {
			failed++
		} else if len(look.silent) > 0 && look.more[client.Disconnected]+look.more[client.Stale] != 2 {
			t.Errorf("beyond those fetched there are %+v", look.more)
		}
		m.take(look)
	}
	var cursors []string
	for _, ask := range s.asked {
		if u, err := url.Parse(ask); err == nil && u.Path == "/fleet/status" {
			cursors = append(cursors, u.Query().Get("cursor"))
		}
	}
	if diff := cmp.Diff([]string{"", "p2", "p2", "p3"}, cursors); diff != "" || failed != 1 {
		t.Errorf("after %d failed looks: pages (-want +got):\n%s", failed, diff)
	}
	if ids := slices.Sorted(maps.Keys(m.edges)); strings.Join(ids, " ") != "a b c" {
		t.Errorf("%v are known", ids)
	}
}
