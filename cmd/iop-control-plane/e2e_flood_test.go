package main

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	iopv1 "iop/proto/iop/v1"
)

// quiet waits until the daemon has no more goroutines than at its start, a few idle HTTP connections aside.
func (d *testDaemon) quiet(before float64) {
	d.t.Helper()
	now := 0.0
	defer func() { d.t.Logf("goroutines: %v before, %v now", before, now) }()
	eventually(d.t, "the goroutines end", func() bool {
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
		for address, half := range map[string]string{d.edge: "\x00\x00\x01\x00\x52", d.wire: "GET /client HTTP/1.1\r\nHost: x\r\n", d.http: "GET /edges HTTP/1.1\r\nHost: lo"} {
			c, err := net.DialTimeout("tcp", address, patience)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				_, _ = c.Write([]byte(half))
			}
			open = append(open, c)
		}
	}
	began := time.Now()
	d.connect(helloOf("honest")).settle()
	d.client1().Close()
	d.get("/edges").is(200, "total", 1)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the honest ones had to wait for %v", took)
	}
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
	eventually(t, "all are gone", func() bool { return d.metric("iop_edges_connected") == 0 })
	list := d.get("/edges").is(200, "total", 4, "disconnected", 4)
	for i := range 4 {
		if n := list.number(fmt.Sprintf("edges.%d.connections", i)); n != 80 {
			t.Errorf("%v of 80 connections are counted", n)
		}
	}
	eventually(t, "nothing is under way", func() bool {
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

// TestHostileFrames of nearly 1 MiB cost about their length in memory, however they unfold, and little time.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	const big = 1_000_000
	empties := func(field byte) []byte { return bytes.Repeat([]byte{field<<3 | 2, 0}, big/2) }
	manyModels := &iopv1.EdgeProviderSnapshot{ProviderId: "p"}
	for i := range big / 9 {
		manyModels.Models = append(manyModels.Models, fmt.Sprintf("m%06d", i))
	}
	models := &iopv1.EdgeStatusResponse{EdgeId: "e", Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: "n", Connected: true, Providers: []*iopv1.EdgeProviderSnapshot{manyModels}}}}
	edgeID := nested([]byte("e"), 1)
	before := d.metric("process_resident_memory_bytes")
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
		t.Log(name)
		e := d.connect(helloOf("e"))
		for range 5 { // it may be refused, and then the rest is to nobody
			e.sendRaw(framed(payload))
		}
		e.send(&iopv1.Envelope{Id: 1, Body: ping().Body})
		for m := range e.got {
			if m.GetPong() != nil || m.GetError() != nil {
				break
			}
		}
		began := time.Now()
		d.get("/edges/e/status?max_age=1h")
		d.get("/fleet/status?timeout=10ms")
		d.get("/fleet/models?timeout=10ms").is(200)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: to look at it took %v", name, took)
		}
		e.conn.Close()
	}
	if grown := d.metric("process_resident_memory_bytes") - before; grown > 400<<20 {
		t.Errorf("grown by %.0f MiB", grown/(1<<20))
	} else {
		t.Logf("grown by %.0f MiB", grown/(1<<20))
	}
}

// TestUnreadEdge: one that doesn't read is closed when a write stands still, and its callers are told busy before.
func TestUnreadEdge(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {write_timeout: 500ms, max_in_flight: 8}\n")
	c, m := d.sayHello(helloOf("e"))
	if m.GetEdgeHelloResponse() == nil {
		t.Fatal(m)
	}
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	body := `{"operation":"a","parameters":{"x":"` + string(bytes.Repeat([]byte("x"), 900_000)) + `"},"timeout":"20s"}`
	var waiting []<-chan answer
	for range 16 {
		waiting = append(waiting, d.postLater("e", body))
	}
	codes := map[string]int{}
	for _, w := range waiting {
		a := <-w
		codes[a.text("code")]++
		if state := a.text("operation.state"); a.status == 503 && a.json["operation"] != nil && state != "unknown" && state != "expired" {
			t.Errorf("%s", a.body)
		}
	}
	if codes["edge_busy"] == 0 || codes["edge_disconnected"] == 0 || codes["edge_busy"]+codes["edge_disconnected"] != 16 {
		t.Errorf("the callers were told %v", codes)
	}
	d.get("/edges/e").is(200, "disconnect_reason", "write_timeout")
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
			if took := time.Since(began); took < 9*time.Second || took > 14*time.Second {
				t.Errorf("%s: cut after %v", name, took)
			}
		})
	}
	wg.Wait()
}
