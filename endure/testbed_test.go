//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"iop/internal/testkit"
	"iop/load/ledger"
	"iop/load/traffic"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// A daemon that throws Edges out is in the books, though it takes them back at once.
func TestBooksHaveEdgesThatAreThrownOut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 100)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { takeHello(conn) })
			conns <- conn
		}
	})
	bed := newTestbed("t", where{edgeWire: listener.Addr().String()}, 1, rates{})
	defer func() {
		listener.Close()
		for len(conns) > 0 {
			(<-conns).Close()
		}
		bed.close()
		serving.Wait()
	}()
	bed.fleet.Connect()
	testkit.Eventually(t, "it is connected", bed.whole)
	if n := bed.troubles(); len(n) > 0 {
		t.Errorf("troubles of an Edge that is connected: %v", n)
	}
	(<-conns).Close()
	testkit.Eventually(t, "its end is in the books", func() bool { return bed.troubles()["edge: ended by the peer"] == 1 })
	if !bed.calm(0) {
		t.Error("it counts as disturbed, so that what fails would be excused")
	}
	testkit.Eventually(t, "it is back", bed.whole)
}

// A reader that is told of a gap has lost events, whatever the daemon logs meanwhile.
func TestBooksHaveGaps(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "event: gap\ndata: {\"reason\":\"overwritten\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	books := ledger.New("t-", 1)
	bed := &testbed{ledger: books, traffic: traffic.New(traffic.Options{HTTP: server.URL, Ledger: books, Duration: endless, Readers: 1})}
	ctx, stop := context.WithCancel(t.Context())
	bed.running.Go(func() { bed.traffic.Run(ctx) })
	defer bed.running.Wait()
	defer stop()
	testkit.Eventually(t, "the gap is in the books", func() bool { return bed.books()["gaps"] == 1 })
	if got := unexcused(&fault{Kind: logSlow}, nil, bed.books(), nil); got != "gaps: 1" {
		t.Errorf("after a slow log: %q", got)
	}
}

// Events that readers aren't given are in the books, though no later one tells that they are missing, and no fault but the daemon's
// excuses them. There is no stream here at all.
func TestBooksHaveEventsThatDontCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books := ledger.New("t-", 1)
		bed := &testbed{ledger: books, traffic: traffic.New(traffic.Options{HTTP: "nowhere", Ledger: books, Duration: endless, Readers: 1})}
		ctx, stop := context.WithCancel(t.Context())
		bed.running.Go(func() { bed.traffic.Run(ctx) })
		defer bed.running.Wait()
		defer stop()
		time.Sleep(time.Second)
		books.SaidEvent(0, 1, 1)
		before := bed.books()
		time.Sleep(2 * ledger.EventTime)
		if got := unexcused(&fault{Kind: linksReset}, before, bed.books(), nil); !strings.Contains(got, "overdue: 1") {
			t.Errorf("after links were reset: %q", got)
		}
	})
}

// takeHello accepts one, and hears the rest.
func takeHello(conn net.Conn) {
	frames := wire.NewFrameReader(conn, wire.DefaultMaxFrameBytes)
	for {
		frame, err := frames.Next()
		if err != nil {
			return
		}
		if m, err := wire.Decode(frame); err == nil && m.GetEdgeHelloRequest() != nil {
			answer, _ := wire.AppendFrame(nil, &iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeHelloResponse{
				EdgeHelloResponse: &iopv1.EdgeHelloResponse{HeartbeatInterval: durationpb.New(requestTime)}}})
			_, _ = conn.Write(answer)
		}
	}
}

func TestUnexcused(t *testing.T) {
	before := map[string]uint64{"lost": 1, "edge: ended by the peer": 2}
	lost, thrownOut := map[string]uint64{"lost": 2}, map[string]uint64{"edge: ended by the peer": 3, "edge: refused: INTERNAL": 1}
	for _, c := range []struct {
		name          string
		kind          faultKind // empty: none
		now, troubles map[string]uint64
		want          string
	}{
		{"nothing", linksReset, map[string]uint64{"lost": 1}, map[string]uint64{"edge: ended by the peer": 2}, ""},
		{"one was lost", daemonStopped, lost, nil, "lost: 1"},
		{"Edges were thrown out after their links were cut", linksReset, nil, thrownOut, "edge: ended by the peer: 1; edge: refused: INTERNAL: 1"},
		{"at the end of a run", "", nil, thrownOut, "edge: ended by the peer: 1; edge: refused: INTERNAL: 1"},
		{"while the log was blocked", logBlocked, nil, thrownOut, "edge: ended by the peer: 1; edge: refused: INTERNAL: 1"},
		{"the daemon was killed", daemonKilled, nil, thrownOut, ""},
		{"the daemon was stopped, and one was lost", daemonStopped, lost, thrownOut, "lost: 1"},
	} {
		var f *fault
		if c.kind != "" {
			f = &fault{Kind: c.kind}
		}
		if got := unexcused(f, before, c.now, c.troubles); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
