package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
