package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// edgeOnTheWire is a small Edge over real TCP: it answers status and commands.
type edgeOnTheWire struct {
	net.Conn
	mu sync.Mutex
}

func (e *edgeOnTheWire) send(m *iopv1.Envelope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, _ := wire.AppendFrame(nil, m)
	_, _ = e.Write(b)
}

// dialEdge says hello and serves until the connection ends.
func dialEdge(t *testing.T, address, edgeID string) *edgeOnTheWire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &edgeOnTheWire{Conn: c}
	e.send(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: &iopv1.EdgeHelloRequest{EdgeId: edgeID}}})
	frames := wire.NewFrameReader(c, wire.DefaultMaxFrameBytes)
	next := func() *iopv1.Envelope {
		b, err := frames.Next()
		if err != nil {
			return nil
		}
		m, _ := wire.Decode(b)
		return m
	}
	if next().GetEdgeHelloResponse() == nil {
		t.Fatal("the hello was refused")
	}
	go func() {
		for m := next(); m != nil; m = next() {
			switch {
			case m.GetEdgeStatusRequest() != nil:
				e.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: &iopv1.EdgeStatusResponse{EdgeId: edgeID,
					Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: "n1", Connected: true}}}}})
			case m.GetEdgeCommandRequest() != nil:
				e.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: &iopv1.EdgeCommandResponse{
					CommandId: m.GetEdgeCommandRequest().CommandId, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED}}})
			}
		}
	}()
	return e
}

// realSystem is everything but the daemon: the actors, an Edge's listener, and a Server over them.
func realSystem(t *testing.T) (s *Server, edges string) {
	t.Helper()
	system := actors.NewSystem(actors.Options{ServerID: "t", HelloTimeout: 5 * time.Second, MaxFrameBytes: wire.DefaultMaxFrameBytes, MaxInFlight: 64,
		Link:    wire.LinkOptions{MaxQueueFrames: 64, MaxQueueBytes: 4 << 20, WriteTimeout: 5 * time.Second},
		Table:   actors.TableOptions{MaxConnections: 100, HeartbeatInterval: 15 * time.Second, MaxHeartbeatsPerSecond: 1000, RetainDisconnected: time.Hour, RetainDisconnectedMax: 100},
		History: actors.HistoryOptions{FleetBuffer: 1000, EdgeBuffer: 100}, Audit: actors.AuditOptions{FleetBuffer: 100, EdgeBuffer: 10, IdempotencyWindow: time.Hour},
		Keyring: &actors.Keyring{}, Log: zerolog.Nop()})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := system.StartFront(actors.NewEdgeFront(system), l, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		front.Stop(ctx)
		system.Drain(ctx)
		system.Stop()
	})
	return newServer(system), l.Addr().String()
}

// One Edge from connected to gone, through the real actors and real sockets.
func TestThroughTheRealSystem(t *testing.T) {
	s, address := realSystem(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	live, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	fmt.Fprintf(live, "GET /fleet/events HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", l.Addr())
	res, err := http.ReadResponse(bufio.NewReader(live), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("stream: %v %v", res, err)
	}
	kinds := make(chan string, 100)
	go func() {
		defer close(kinds)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				kinds <- kind
			}
		}
	}()

	e := dialEdge(t, address, "seoul-1")
	wantAt(t, do(s, http.MethodGet, "/edges/seoul-1", "").want(t), "state", "connected", "connected", "true")
	wantAt(t, do(s, http.MethodGet, "/edges/seoul-1/status", "").want(t), "source", "live", "nodes.0.node_id", "n1")
	wantAt(t, do(s, http.MethodGet, "/fleet/summary", "").want(t), "fresh.edges", "1", "fresh.nodes_connected", "1")
	op := do(s, http.MethodPost, "/edges/seoul-1/commands", `{"operation":"x","parameters":{"a":1}}`, "Idempotency-Key", "k").want(t)
	wantAt(t, op, "state", "succeeded", "parameters.a", "1")
	again := do(s, http.MethodPost, "/edges/seoul-1/commands", `{"parameters":{"a":1.0},"operation":"x"}`, "Idempotency-Key", "k").want(t)
	wantAt(t, again, "operation_id", at(op, "operation_id"))
	do(s, http.MethodPost, "/edges/seoul-1/commands", `{"operation":"y"}`, "Idempotency-Key", "k").wantProblem(t, wire.IdempotencyConflict)
	wantAt(t, do(s, http.MethodGet, "/edges/seoul-1/operations", "").want(t), "operations.0.operation_id", at(op, "operation_id"), "operations.1", "absent")

	e.Close()
	for _, want := range []string{"edge_connected", "command_sent", "command_succeeded", "edge_disconnected"} {
		select {
		case kind := <-kinds:
			if kind != want {
				t.Errorf("event %s, want %s", kind, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no %s", want)
		}
	}
	wantAt(t, do(s, http.MethodGet, "/edges/seoul-1/status", "").wantProblem(t, wire.EdgeDisconnected), "disconnect_reason", "connection_closed")
	wantAt(t, do(s, http.MethodGet, "/edges/seoul-1/status?max_age=1m", "").want(t), "source", "cached", "stale", "true")

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for range kinds { // until the stream has ended
	}
}
