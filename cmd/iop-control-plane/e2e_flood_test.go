package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

// quiet waits until the daemon has no more goroutines than at its start, a few idle HTTP connections aside.
func (d *testDaemon) quiet(before float64) {
	d.t.Helper()
	now := 0.0
	defer func() { d.t.Logf("goroutines: %v before, %v now", before, now) }()
	testkit.Eventually(d.t, "the goroutines end", func() bool {
		httpClient.CloseIdleConnections()
		now = d.metric("go_goroutines")
		return now <= before+10
	})
}

// TestHalfOpen: a thousand connections a wire that say nothing, or half of it, keep nobody else out, and leave nothing behind.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {hello_timeout: 30s}\n")
	before := d.metric("go_goroutines")
	var open []net.Conn
	for i := range 1000 {
		for _, half := range []struct{ address, said string }{
			{d.wire, "GET /client HTTP/1.1\r\nHost: x\r\n"}, {d.edge, "\x00\x00\x01\x00\x52"}, {d.http, "GET /edges HTTP/1.1\r\nHost: lo"},
		} {
			c, err := net.DialTimeout("tcp", half.address, patience)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				_, _ = c.Write([]byte(half.said))
			}
			open = append(open, c)
		}
	}
	d.connect(helloOf("honest")).settle()
	d.get("/edges").is(200, "total", 1)
	d.client1().Close()
	for _, c := range open {
		c.Close()
	}
	d.quiet(before)
}

// TestChurn: connections that come and go, with questions under way, leave nothing behind.
func TestChurn(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	before := d.metric("go_goroutines")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprint("e", i%4) // two of each fight
			for range 40 {
				c, err := net.Dial("tcp", d.edge)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Write(append(frameOf(helloEnvelope(helloOf(id))), frameOf(status(snapshotOf(id)))...))
				_, _ = readFrame(c)
				_, _ = d.try("GET", "/edges/"+id+"/status?timeout=20ms", "")
				_, _ = d.try("POST", "/edges/"+id+"/commands?wait=false", `{"operation":"a","timeout":"1s"}`)
				c.Close()
			}
		})
	}
	wg.Wait()
	testkit.Eventually(t, "all are gone", func() bool { return d.metric("iop_edges_connected") == 0 })
	list := d.get("/edges").is(200, "total", 4, "disconnected", 4)
	for i := range 4 {
		if n := list.number(fmt.Sprintf("edges.%d.connections", i)); n != 80 {
			t.Errorf("%v of 80 connections are counted", n)
		}
	}
	testkit.Eventually(t, "nothing is under way", func() bool {
		return len(d.get("/fleet/operations?state=sent").list("operations"))+len(d.get("/fleet/operations?state=pending").list("operations")) == 0
	})
	d.quiet(before)
}

// nested wraps a payload in length-delimited fields, the innermost last.
func nested(payload []byte, fields ...protowire.Number) []byte {
	for i := len(fields) - 1; i >= 0; i-- {
		payload = protowire.AppendBytes(protowire.AppendTag(nil, fields[i], protowire.BytesType), payload)
	}
	return payload
}

// TestHostileFrames: a frame that unfolds to a multiple of its length keeps no more than that, and is shown in little time.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "server: {debug_listen: \"127.0.0.1:0\"}\nedges: {heartbeat_interval: 5m}\n")
	const big, long = 300_000, 1_000_000
	empties := func(field byte) []byte { return bytes.Repeat([]byte{field<<3 | 2, 0}, big/2) }
	manyModels := &iopv1.EdgeProviderSnapshot{ProviderId: "p"}
	for i := range long / 9 {
		manyModels.Models = append(manyModels.Models, fmt.Sprintf("m%06d", i))
	}
	models := &iopv1.EdgeStatusResponse{EdgeId: "e", Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: "n", Connected: true, Providers: []*iopv1.EdgeProviderSnapshot{manyModels}}}}
	edgeID := nested([]byte("e"), 1)
	before := d.heap()
	for name, payload := range map[string][]byte{
		"empty nodes":      nested(append(empties(3), edgeID...), 13),
		"empty providers":  nested(append(nested(empties(5), 3), edgeID...), 13),
		"empty labels":     nested(append(nested(empties(4), 3), edgeID...), 13),
		"empty models":     nested(append(nested(empties(3), 3, 5), edgeID...), 13),
		"empty parameters": nested(empties(1), 15, 4),
		"empty answers":    nested(empties(1), 19),
		"empty bodies":     empties(13),
		"unknown fields":   bytes.Repeat([]byte{0xf8, 0x07, 1}, big/3),
		"many models":      frameOf(status(models))[4:],
	} {
		e := d.connect(helloOf("e"))
		e.sendRaw(framed(payload))
		e.send(&iopv1.Envelope{Id: 1, Body: ping().Body})
		for m := range e.got {
			if m.GetPong() != nil || m.GetError() != nil {
				break
			}
		}
		began := d.metric("process_cpu_seconds_total")
		d.get("/edges/e/status?max_age=1h")
		d.get("/fleet/status?timeout=10ms")
		d.get("/fleet/models?timeout=10ms").is(200)
		took := d.metric("process_cpu_seconds_total") - began
		t.Logf("%s: %.2f s", name, took)
		if took > 15 {
			t.Errorf("%s: to look at it took %v s", name, took)
		}
		e.conn.Close()
	}
	testkit.Eventually(t, "no more is kept than the last snapshot and its Edge", func() bool { return d.heap()-before < 8<<20 })
}

// heap is what the daemon's heap holds after a collection.
func (d *testDaemon) heap() float64 {
	d.t.Helper()
	response, err := http.Post("http://"+d.debug+"/debug/freeosmemory", "", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	response.Body.Close()
	return d.metric("go_memstats_heap_alloc_bytes")
}

// unreadEdge connects an Edge that reads nothing more once it was accepted, and sends Pings without end: their answers fill what sockets
// and the queue hold.
func (d *testDaemon) unreadEdge(id string) net.Conn {
	d.t.Helper()
	c, err := narrow.Dial("tcp", d.edge)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	_, _ = c.Write(frameOf(helloEnvelope(helloOf(id))))
	if _, err := readFrame(c); err != nil {
		d.t.Fatal(err)
	}
	pings := bytes.Repeat(frameOf(&iopv1.Envelope{Id: 1, Body: ping().Body}), 1000)
	go func() {
		for {
			if _, err := c.Write(pings); err != nil {
				return
			}
		}
	}()
	return c
}

// TestUnreadEdge: one that doesn't read is closed when a write stands still; its callers are told busy before, and
// what it may not have read is unknown.
func TestUnreadEdge(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {heartbeat_interval: 5m, write_timeout: 1s, max_in_flight: 8}\n")
	d.unreadEdge("e")
	told := map[string]int{}
	var carried []string
	testkit.Eventually(t, "it is closed", func() bool {
		a := d.do("POST", "/edges/e/commands?wait=false", `{"operation":"a","timeout":"60s"}`)
		if a.status == 202 {
			carried = append(carried, a.text("operation_id"))
		}
		told[a.text("code")]++
		return told["edge_disconnected"] > 0
	})
	if told["edge_busy"] == 0 || len(carried) == 0 || len(told) != 3 {
		t.Errorf("the callers were told %v", told)
	}
	d.get("/edges/e").is(200, "disconnect_reason", "write_timeout")
	for _, id := range carried {
		testkit.Eventually(t, "unknown, or expired where it was never written", func() bool {
			state := d.operation("e", id).text("state")
			return state == "unknown" || state == "expired"
		})
	}
}

// TestSlowRequests are cut when head or body doesn't arrive within 10 s.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	began := time.Now()
	var wg sync.WaitGroup
	for name, request := range map[string]string{
		"head":          "GET /edges HTTP/1.1\r\nHost: localhost\r\n",
		"body":          "POST /edges/e/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"body of a GET": "GET /edges HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"chunks":        "POST /edges/e/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
	} {
		wg.Go(func() {
			d.raw(request)
			if took := time.Since(began); took < 9*time.Second {
				t.Errorf("%s: cut after %v", name, took)
			}
		})
	}
	wg.Wait()
}
