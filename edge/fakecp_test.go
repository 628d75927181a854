package edge

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// fakeCP is a Control Plane at the other end of pipes, whose every word a test decides.
type fakeCP struct {
	t     *testing.T
	conns chan net.Conn
}

func newFakeCP(t *testing.T) *fakeCP { return &fakeCP{t: t, conns: make(chan net.Conn)} }

func (f *fakeCP) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case f.conns <- ours:
		return theirs, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// peer is the Control Plane's end of one connection.
type peer struct {
	t      *testing.T
	conn   net.Conn
	frames *wire.FrameReader
	hello  *iopv1.EdgeHelloRequest
}

// waitForHello gives the next connection, with its hello read and not answered.
func (f *fakeCP) waitForHello() *peer {
	f.t.Helper()
	p := &peer{t: f.t, conn: <-f.conns}
	p.frames = wire.NewFrameReader(p.conn, wire.DefaultMaxFrameBytes)
	first := p.next()
	if p.hello = first.GetEdgeHelloRequest(); p.hello == nil || first.Id != dial.HelloID {
		f.t.Fatalf("first message is %v, want a hello", first)
	}
	return p
}

// accept gives the next connection with its hello accepted and its first push read.
func (f *fakeCP) accept() *peer {
	f.t.Helper()
	p := f.waitForHello()
	p.welcome(&iopv1.EdgeHelloResponse{})
	if p.next().GetEdgeStatusResponse() == nil {
		f.t.Fatal("no push after the hello")
	}
	return p
}

// welcome accepts a hello; what the answer leaves out is filled in.
func (p *peer) welcome(r *iopv1.EdgeHelloResponse) {
	p.t.Helper()
	r.ServerId, r.ServerVersion, r.ProtocolVersion = "fake", "0", wire.ProtocolVersion
	if r.HeartbeatInterval == nil {
		r.HeartbeatInterval = durationpb.New(15 * time.Second)
	}
	if r.MaxFrameBytes == 0 {
		r.MaxFrameBytes = wire.DefaultMaxFrameBytes
	}
	if r.ServerTime == nil {
		r.ServerTime = timestamppb.Now()
	}
	p.send(&iopv1.Envelope{ReplyTo: dial.HelloID, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: r}})
}

func (p *peer) send(e *iopv1.Envelope) {
	p.t.Helper()
	frame, err := wire.AppendFrame(nil, e)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.conn.Write(frame); err != nil {
		p.t.Fatalf("the Edge doesn't read: %v", err)
	}
}

// next gives the next message, within a minute.
func (p *peer) next() *iopv1.Envelope {
	p.t.Helper()
	e, err := p.read(time.Minute)
	if err != nil {
		p.t.Fatalf("the Edge says nothing: %v", err)
	}
	return e
}

func (p *peer) read(wait time.Duration) (*iopv1.Envelope, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(wait))
	payload, err := p.frames.Next()
	if err != nil {
		return nil, err
	}
	return wire.Decode(payload)
}

// nextBut gives the next message that isn't a Ping or a push.
func (p *peer) nextBut() *iopv1.Envelope {
	p.t.Helper()
	for {
		e := p.next()
		if e.GetPing() == nil && (e.GetEdgeStatusResponse() == nil || e.ReplyTo != 0) {
			return e
		}
	}
}

// quiet wants nothing for a while.
func (p *peer) quiet(d time.Duration) {
	p.t.Helper()
	if e, err := p.read(d); err == nil {
		p.t.Fatalf("the Edge says %v, want silence", e)
	}
}

// closed reads until the Edge closes and gives what came.
func (p *peer) closed() (got []*iopv1.Envelope) {
	p.t.Helper()
	for {
		e, err := p.read(time.Hour)
		if err != nil {
			if err != io.EOF && err != io.ErrUnexpectedEOF {
				p.t.Fatalf("not closed: %v", err)
			}
			_ = p.conn.Close()
			return got
		}
		got = append(got, e)
	}
}

func (p *peer) command(id uint64, c *iopv1.EdgeCommandRequest) {
	p.t.Helper()
	p.send(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: c}})
}

// answer is the next message but pings and pushes, which has to answer a command.
func (p *peer) answer(replyTo uint64) *iopv1.EdgeCommandResponse {
	p.t.Helper()
	e := p.nextBut()
	if e.GetEdgeCommandResponse() == nil || e.ReplyTo != replyTo {
		p.t.Fatalf("got %v, want the answer to %d", e, replyTo)
	}
	return e.GetEdgeCommandResponse()
}

// event is the next message but pings and pushes, which has to be a command's event of this phase.
func (p *peer) event(phase iopv1.CommandPhase) *iopv1.EdgeCommandEvent {
	p.t.Helper()
	e := p.nextBut()
	if got := e.GetEdgeCommandEvent(); got == nil || got.Phase != phase || e.ReplyTo != 0 {
		p.t.Fatalf("got %v, want a command event %v", e, phase)
	}
	return e.GetEdgeCommandEvent()
}

func (p *peer) query(id uint64, ids ...string) *iopv1.EdgeCommandQueryResponse {
	p.t.Helper()
	p.send(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeCommandQueryRequest{EdgeCommandQueryRequest: &iopv1.EdgeCommandQueryRequest{CommandIds: ids}}})
	e := p.nextBut()
	if e.GetEdgeCommandQueryResponse() == nil || e.ReplyTo != id {
		p.t.Fatalf("got %v, want the answer to the query", e)
	}
	return e.GetEdgeCommandQueryResponse()
}

// fakeSite is a Site that a test sets.
type fakeSite struct {
	mu     sync.Mutex
	nodes  []Node
	notify chan struct{}
}

func newFakeSite(nodes ...Node) *fakeSite {
	return &fakeSite{nodes: nodes, notify: make(chan struct{}, 1)}
}

func (s *fakeSite) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

func (s *fakeSite) set(nodes ...Node) {
	s.mu.Lock()
	s.nodes = nodes
	s.mu.Unlock()
	s.notify <- struct{}{}
}

func (s *fakeSite) Run(ctx context.Context, changed func()) {
	changed()
	for {
		select {
		case <-s.notify:
			changed()
		case <-ctx.Done():
			return
		}
	}
}

var quietLog = slog.New(slog.DiscardHandler)

// startEdge runs an Edge against a fake Control Plane, and gives what stops it and waits.
func startEdge(t *testing.T, cp *fakeCP, o Options) (stop func()) {
	t.Helper()
	if o.ID == "" {
		o.ID = "seoul-1"
	}
	o.Address = "control-plane.test:19081"
	if o.Logger == nil {
		o.Logger = quietLog
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e.connector.dial = cp.dial
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stopped := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run gave %v", err)
		}
	})
	t.Cleanup(stopped)
	return stopped
}
