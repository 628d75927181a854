package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// testEdge is an Edge whose every word the test decides. It reads in a goroutine of its own, answers the server's Pings,
// and hands on the rest.
type testEdge struct {
	t    *testing.T
	id   string
	conn net.Conn
	got  chan *iopv1.Envelope // what came and was not a Ping; closed at the end of the connection
	mute bool                 // does not answer Pings

	mu sync.Mutex
}

func frameOf(m *iopv1.Envelope) []byte {
	payload, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return framed(payload)
}

func framed(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

func readFrame(r io.Reader) (*iopv1.Envelope, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	payload := make([]byte, binary.BigEndian.Uint32(header[:]))
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, err
	}
	m := &iopv1.Envelope{}
	return m, proto.Unmarshal(payload, m)
}

func helloOf(id string) *iopv1.EdgeHelloRequest {
	return &iopv1.EdgeHelloRequest{EdgeId: id, Version: "1.2.3", ProtocolVersion: 1, InstanceId: "first of " + id}
}

func helloEnvelope(h *iopv1.EdgeHelloRequest) *iopv1.Envelope {
	return &iopv1.Envelope{Id: 7, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: h}}
}

func (d *testDaemon) dialEdge() net.Conn {
	d.t.Helper()
	c, err := net.DialTimeout("tcp", d.edge, patience)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(2 * patience))
	return c
}

// narrow dials with a small receive buffer, so that a peer that isn't read soon has nowhere to write to.
var narrow = &net.Dialer{Timeout: patience, Control: func(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 32<<10) })
}}

// sayHello dials and gives the answer to a hello, whatever it is.
func (d *testDaemon) sayHello(h *iopv1.EdgeHelloRequest) (net.Conn, *iopv1.Envelope) {
	d.t.Helper()
	c := d.dialEdge()
	if _, err := c.Write(frameOf(helloEnvelope(h))); err != nil {
		d.t.Fatal(err)
	}
	m, err := readFrame(c)
	if err != nil {
		d.t.Fatalf("the answer to the hello of %q: %v", h.EdgeId, err)
	}
	return c, m
}

// connect is a hello that is accepted.
func (d *testDaemon) connect(h *iopv1.EdgeHelloRequest) *testEdge {
	d.t.Helper()
	c, m := d.sayHello(h)
	if m.GetEdgeHelloResponse() == nil || m.ReplyTo != 7 {
		d.t.Fatalf("the hello of %q was answered %v", h.EdgeId, m)
	}
	return newTestEdge(d.t, h.EdgeId, c)
}

func newTestEdge(t *testing.T, id string, c net.Conn) *testEdge {
	e := &testEdge{t: t, id: id, conn: c, got: make(chan *iopv1.Envelope, 4096)}
	go e.read()
	return e
}

func (e *testEdge) read() {
	defer close(e.got)
	for {
		m, err := readFrame(e.conn)
		if err != nil {
			return
		}
		if m.GetPing() != nil {
			if !e.mute {
				e.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
			}
			continue
		}
		e.got <- m
	}
}

// send leaves errors to whoever misses an effect.
func (e *testEdge) send(m *iopv1.Envelope) { e.sendRaw(frameOf(m)) }

func (e *testEdge) sendRaw(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.conn.Write(b)
}

// next waits for what comes next.
func (e *testEdge) next() *iopv1.Envelope {
	e.t.Helper()
	select {
	case m, ok := <-e.got:
		if !ok {
			e.t.Fatalf("%s: the connection ended", e.id)
		}
		return m
	case <-time.After(patience):
		e.t.Fatalf("%s: nothing came", e.id)
	}
	return nil
}

// command waits for a command.
func (e *testEdge) command() *iopv1.Envelope {
	e.t.Helper()
	m := e.next()
	if m.GetEdgeCommandRequest() == nil {
		e.t.Fatalf("%s: wanted a command, got %v", e.id, m)
	}
	return m
}

// answer makes a message the answer to a request.
func (e *testEdge) answer(to *iopv1.Envelope, m *iopv1.Envelope) {
	m.ReplyTo = to.Id
	e.send(m)
}

// reply answers a command.
func (e *testEdge) reply(to *iopv1.Envelope, outcome iopv1.CommandOutcome) {
	e.answer(to, response(to.GetEdgeCommandRequest().GetCommandId(), outcome))
}

// push says a snapshot, and waits until it is known.
func (e *testEdge) push(s *iopv1.EdgeStatusResponse) {
	e.t.Helper()
	e.send(status(s))
	e.settle()
}

// settle waits until the connection's actor has handled all that was sent before: it comes to this question last. (A Ping is
// answered by who reads.)
func (e *testEdge) settle() {
	e.t.Helper()
	e.send(&iopv1.Envelope{Id: 1 << 40})
	for {
		if m := e.next(); m.GetError() != nil && m.ReplyTo == 1<<40 {
			return
		}
	}
}

// lastWords gives what came until the connection's end.
func lastWords(t *testing.T, c net.Conn) (all []*iopv1.Envelope) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	for {
		m, err := readFrame(c)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("the connection does not end")
			}
			return all
		}
		all = append(all, m)
	}
}

// lastError wants the connection to end behind this Error.
func lastError(t *testing.T, c net.Conn, code iopv1.ErrorCode) *iopv1.Envelope {
	t.Helper()
	all := lastWords(t, c)
	if len(all) == 0 || all[len(all)-1].GetError().GetCode() != code {
		t.Fatalf("wanted %v as the last word, got %v", code, all)
	}
	return all[len(all)-1]
}

// snapshotOf is one connected node with one available provider of 8 places, 3 of them taken.
func snapshotOf(id string, models ...string) *iopv1.EdgeStatusResponse {
	return &iopv1.EdgeStatusResponse{EdgeId: id, ObservedAt: timestamppb.Now(), Nodes: []*iopv1.EdgeNodeSnapshot{{
		NodeId: "n1", Connected: true, Providers: []*iopv1.EdgeProviderSnapshot{{
			ProviderId: "p1", Type: "vllm", Models: models,
			Status:  iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE,
			Health:  iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
			General: &iopv1.ProviderCounters{Capacity: 8, InFlight: 3},
		}},
	}}}
}

func status(s *iopv1.EdgeStatusResponse) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: s}}
}

func response(id string, outcome iopv1.CommandOutcome) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandResponse{
		EdgeCommandResponse: &iopv1.EdgeCommandResponse{CommandId: id, Outcome: outcome}}}
}

func phase(id string, p iopv1.CommandPhase) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandEvent{EdgeCommandEvent: &iopv1.EdgeCommandEvent{CommandId: id, Phase: p}}}
}

func failure(code iopv1.ErrorCode, message string) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: code, Message: message}}}
}

func ping() *iopv1.Envelope { return &iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}} }

func goodbye() *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING}}}
}

// Words of the wire that tests use most.
const (
	accepted  = iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED
	succeeded = iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED
	noOutcome = iopv1.CommandOutcome_COMMAND_OUTCOME_UNSPECIFIED

	badArgument     = iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT
	badPrecondition = iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION
	exhausted       = iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED
	unimplemented   = iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED
	noPermission    = iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED
)
