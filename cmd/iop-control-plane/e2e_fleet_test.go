package main

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

// TestFleetPages: totals are of all that match, whatever the page; errors are paged with statuses, in one order; only the
// first page asks.
func TestFleetPages(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	fresh := map[string]*testEdge{}
	for i := range 6 {
		h := helloOf(fmt.Sprintf("e%d", i))
		h.Labels = map[string]string{"zone": fmt.Sprint(i % 2), "empty": ""}
		e := d.connect(h)
		if i != 1 && i != 4 { // these never say anything, also when they are asked
			e.push(snapshotOf(h.EdgeId, "m"))
		}
		fresh[h.EdgeId] = e
	}
	fresh["e5"].conn.Close()
	testkit.Eventually(t, "e5 is gone", func() bool { return d.get("/edges/e5").text("state") == "disconnected" })
	var order []string
	path := "/fleet/status?timeout=300ms&limit=2"
	for cursor := ""; ; {
		page := d.get(path+"&cursor="+cursor).is(200, "edges.total", 6, "edges.connected", 5, "edges.disconnected", 1,
			"answered", 4, "unanswered", 2, "fresh.edges", 3, "stale.edges", 1, "fresh.general.capacity", 24, "fresh.general.free", 15,
			"stale.general.capacity", 8)
		var onPage []string
		for _, s := range page.list("statuses") {
			onPage = append(onPage, s.(object)["edge_id"].(string))
		}
		for _, e := range page.list("errors") {
			onPage = append(onPage, e.(object)["edge_id"].(string)+" "+e.(object)["code"].(string))
		}
		slices.Sort(onPage)
		order = append(order, onPage...)
		if page.number("oldest_age_ms") < 0 {
			t.Errorf("oldest_age_ms: %s", page.body)
		}
		if cursor == "" {
			fresh["e0"].settle() // asked nothing: its push is young
		}
		if cursor = page.text("next_cursor"); cursor == "" {
			break
		}
	}
	if got := strings.Join(order, ", "); got != "e0, e1 edge_timeout, e2, e3, e4 edge_timeout, e5" {
		t.Errorf("listed: %s", got)
	}
	if asked := len(fresh["e1"].got); asked != 1 {
		t.Errorf("e1 was asked %d times for three pages", asked)
	}
	d.get("/fleet/summary?timeout=50ms&label=zone=1").is(200, "edges.total", 3, "fresh.edges", 1, "stale.edges", 1, "unanswered", 1, "statuses", nil)
	d.get("/fleet/summary?timeout=50ms&label=zone=1&label=empty=").is(200, "edges.total", 3)
	d.get("/fleet/summary?label=zone=1&label=zone=0").is(200, "edges.total", 0, "oldest_age_ms", nil, "fresh.edges", 0)
	d.get("/fleet/models?timeout=50ms").is(200, "models.0.model", "m", "models.0.edges", 3, "models.0.general.free", 15, "models.1", nil)
	// Nothing is acceptable at max_age=0s but what is said now.
	answers := d.later("GET", "/fleet/status?max_age=0s&timeout=20s&label=zone=0", "")
	for _, id := range []string{"e0", "e2", "e4"} {
		m := fresh[id].next()
		for m.GetEdgeStatusRequest().GetTimeout().AsDuration() != 20*time.Second { // older questions, left open
			m = fresh[id].next()
		}
		fresh[id].answer(m, status(snapshotOf(id)))
	}
	(<-answers).is(200, "answered", 3, "statuses.0.source", "live", "statuses.2.edge_id", "e4", "errors", []any{})
}

// TestStatusOfTheGone: last known, and said to be so.
func TestStatusOfTheGone(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {retain_disconnected: 2s}\n")
	e := d.connect(helloOf("e"))
	s := snapshotOf("e", "m")
	s.Nodes = append(s.Nodes, &iopv1.EdgeNodeSnapshot{NodeId: "n2", Providers: []*iopv1.EdgeProviderSnapshot{{ProviderId: "p2", Models: []string{"m"},
		Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
		General: &iopv1.ProviderCounters{Capacity: 100, InFlight: 1, Queued: 1}}}})
	s.Nodes[0].Providers = append(s.Nodes[0].Providers, &iopv1.EdgeProviderSnapshot{ProviderId: "over", Status: 77,
		General: &iopv1.ProviderCounters{Capacity: 1, InFlight: 9}})
	e.push(s)
	unconnected := []any{"nodes.1.connected", false, "nodes.1.providers.0.status", "unavailable", "nodes.1.providers.0.health", "offline",
		"nodes.1.providers.0.general.capacity", 0, "nodes.1.providers.0.general.in_flight", 0, "nodes.1.providers.0.general.queued", 0,
		"nodes.0.providers.1.status", "unspecified", "nodes.0.providers.1.health", "unspecified"}
	d.get("/edges/e/status?max_age=1m").is(200, append(unconnected, "source", "cached", "connected", true, "stale", false)...)
	d.get("/fleet/summary").is(200, "fresh.nodes", 2, "fresh.nodes_connected", 1, "fresh.providers", 3, "fresh.providers_available", 1,
		"fresh.general.capacity", 9, "fresh.general.in_flight", 12, "fresh.general.free", 5)
	e.conn.Close()
	testkit.Eventually(t, "it is gone", func() bool { return d.get("/edges/e").text("state") == "disconnected" })
	d.get("/edges/e/status").isProblem(503, "edge_disconnected", "disconnect_reason", "connection_closed")
	d.get("/edges/e/status?max_age=0s").isProblem(503, "edge_disconnected")
	d.get("/edges/e/status?max_age=1m").is(200, append(unconnected, "source", "cached", "connected", false, "stale", true,
		"nodes.0.providers.0.general.capacity", 8, "nodes.0.providers.0.status", "available")...)
	d.get("/fleet/models").is(200, "models", []any{}) // never to be planned with
	d.get("/fleet/status").is(200, "fresh.edges", 0, "stale.edges", 1, "answered", 1, "statuses.0.stale", true, "errors", []any{})
	d.get("/fleet/status?max_age=0s").is(200, "stale.edges", 0, "unanswered", 1, "errors.0.code", "edge_disconnected", "oldest_age_ms", nil)
	testkit.Eventually(t, "it is forgotten", func() bool { return d.get("/edges/e").status == 404 })
	d.get("/fleet/status").is(200, "edges.total", 0, "unanswered", 0)
	d.get("/edges/e/events").isProblem(404, "edge_not_found")
}

// TestEdgeCursors: pages go by edge_id, so that an Edge that comes or goes between them moves no other.
func TestEdgeCursors(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	for _, id := range []string{"b", "d", "f", "h", "B", "ba"} {
		d.connect(helloOf(id))
	}
	first := d.get("/edges?limit=3").is(200, "total", 6, "edges.0.edge_id", "B", "edges.2.edge_id", "ba")
	d.connect(helloOf("a"))
	d.connect(helloOf("e"))
	cursor := first.text("next_cursor")
	second := d.get("/edges?limit=3&cursor="+cursor).is(200, "total", 8, "edges.0.edge_id", "d", "edges.1.edge_id", "e", "edges.2.edge_id", "f")
	last := d.get("/edges?limit=3&cursor="+second.text("next_cursor")).is(200, "edges.0.edge_id", "h", "next_cursor", nil)
	d.get("/edges?limit=1&prefix=b").is(200, "total", 2, "edges.0.edge_id", "b")
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(cursor) || last.number("connected") != 8 {
		t.Errorf("cursor %q, last page %s", cursor, last.body)
	}
	for _, bad := range []string{cursor + "x", cursor[1:], base64.RawURLEncoding.EncodeToString([]byte("x")), strings.Repeat("A", 5000)} {
		d.get("/edges?cursor="+bad).isProblem(400, "invalid_request")
	}
	d.get("/fleet/status?cursor="+cursor).isProblem(400, "invalid_request") // of another list
	d.get("/fleet/operations?cursor="+cursor).isProblem(400, "invalid_request")
}

func nodeEvent(node string) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{NodeId: node, Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_READY}}}
}

func (d *testDaemon) lastNode(path, node string) {
	d.t.Helper()
	testkit.Eventually(d.t, "the event of "+node, func() bool { return d.get(path+"?limit=1").text("events.0.node_id") == node })
}

// TestEventGaps: an id that is no longer kept, of an earlier run or unknown never skips silently.
func TestEventGaps(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "events: {fleet_buffer: 12, edge_buffer: 5}\n")
	e, other := d.connect(helloOf("e")), d.connect(helloOf("other"))
	d.get("/edges/e/events?after="+d.get("/edges/e/events").text("next")).is(200, "events", []any{}, "gap", nil)
	first := d.get("/edges/e/events").text("events.0.id")
	others := d.get("/edges/other/events").text("events.0.id")
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(first) || others <= first {
		t.Errorf("ids %q and %q", first, others)
	}
	for i := range 8 { // the Edge's ring has 5: 4 of its 9 are gone
		e.send(nodeEvent(fmt.Sprint(i)))
	}
	e.settle()
	d.lastNode("/edges/e/events", "7")
	d.get("/edges/e/events?after="+first).is(200, "gap.reason", "overwritten", "gap.dropped", 3, "events.0.node_id", 3)
	d.get("/edges/e/events?limit=2&after="+first).is(200, "gap.dropped", 3, "events.0.node_id", 3, "events.1.node_id", 4, "events.2", nil)
	page := d.get("/edges/e/events?limit=2").is(200, "gap", nil, "events.0.node_id", 6, "events.1.node_id", 7)
	d.get("/edges/e/events?after="+page.text("events.0.id")).is(200, "gap", nil, "events.0.node_id", 7, "next", page.text("next"))
	d.get("/edges/e/events?after="+others).is(200, "gap.reason", "overwritten", "events.0.node_id", 3)
	d.get("/fleet/events?after="+first).is(200, "gap", nil, "events.0.id", others, "events.8.node_id", 7)
	d.get("/edges/other/events?after="+page.text("next")).is(200, "gap", nil, "events", []any{}, "next", page.text("next"))
	for _, unknown := range []string{"x", "0", strings.Repeat("z", 40), first[1:], "01ARZ3NDEKTSV4RRFFQ69G5FAV-000000000001-1-1"} {
		d.get("/edges/e/events?after="+unknown).is(200, "gap.reason", "restarted", "gap.dropped", nil, "events.0.node_id", 3)
		d.get("/fleet/events?after="+unknown).is(200, "gap.reason", "restarted", "events.0.id", first)
	}
	for i := range 12 {
		other.send(nodeEvent(fmt.Sprint("o", i)))
	}
	d.lastNode("/fleet/events", "o11")
	d.get("/fleet/events?after="+first).is(200, "gap.reason", "overwritten", "gap.dropped", 9, "events.0.node_id", "o0", "events.12", nil)
	d.get("/edges/e/events").is(200, "events.4.node_id", 7) // one Edge's flood is not another's

	again := startDaemon(t, "")
	again.connect(helloOf("e"))
	again.get("/edges/e/events?after="+first).is(200, "gap.reason", "restarted", "gap.dropped", nil, "events.0.kind", "edge_connected")
}
