package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	helloTimeout = 10 * time.Second
	heartbeat    = 15 * time.Second
	writeTimeout = 10 * time.Second
	maxInFlight  = 64
)

// server has a map of connections under a mutex.
type server struct {
	mu     sync.RWMutex
	edges  map[string]*edge
	events hub
}

func newServer() *server {
	return &server{edges: map[string]*edge{}, events: hub{readers: map[chan []byte]struct{}{}}}
}

func (s *server) get(id string) *edge {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.edges[id]
}

// claim gives the id to the newest connection.
func (s *server) claim(e *edge) {
	s.mu.Lock()
	older := s.edges[e.id]
	s.edges[e.id] = e
	s.mu.Unlock()
	if older != nil {
		_ = older.conn.Close()
	}
}

func (s *server) release(e *edge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.edges[e.id] == e {
		delete(s.edges, e.id)
	}
}

func (s *server) acceptEdges(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go s.serve(c)
	}
}

// edge is one connection. Its goroutine reads; whoever has something to say writes, under the mutex.
type edge struct {
	id      string
	hello   *iopv1.EdgeHelloRequest // what it says of itself
	helloID uint64
	conn    net.Conn
	frames  *wire.FrameReader

	write sync.Mutex

	mu      sync.Mutex
	nextID  uint64
	pending map[uint64]chan *iopv1.Envelope
	last    *iopv1.EdgeStatusResponse
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	e := &edge{conn: c, frames: wire.NewFrameReader(c, wire.MaxHelloBytes)}
	if !e.readHello() {
		return
	}
	s.claim(e)
	defer s.release(e)
	if e.welcome() != nil {
		return
	}
	e.frames.SetMax(wire.DefaultMaxFrameBytes)
	for {
		_ = c.SetReadDeadline(time.Now().Add(heartbeat * 5 / 2))
		m, err := e.next()
		if err != nil || e.take(m) != nil {
			return
		}
		if event := m.GetEdgeNodeEvent(); event != nil {
			s.events.publish(e.id, event)
		}
	}
}

func (e *edge) next() (*iopv1.Envelope, error) {
	frame, err := e.frames.Next()
	if err != nil {
		return nil, err
	}
	return wire.Decode(frame)
}

func (e *edge) readHello() bool {
	_ = e.conn.SetReadDeadline(time.Now().Add(helloTimeout))
	m, err := e.next()
	if err != nil || m.GetEdgeHelloRequest() == nil {
		return false
	}
	e.hello, e.helloID = m.GetEdgeHelloRequest(), m.Id
	e.hello.Token = ""
	e.id = e.hello.EdgeId
	return wire.ValidEdgeID(e.id)
}

func (e *edge) welcome() error {
	return e.send(&iopv1.Envelope{ReplyTo: e.helloID, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{
		ServerId: "baseline", ProtocolVersion: 1, HeartbeatInterval: durationpb.New(heartbeat),
		MaxFrameBytes: wire.DefaultMaxFrameBytes, ServerTime: timestamppb.Now()}}})
}

func (e *edge) take(m *iopv1.Envelope) error {
	if ping := m.GetPing(); ping != nil {
		var frame [96]byte
		return e.writeFrame(wire.AppendPong(frame[:0], m.Id, ping.SentAt, time.Now(), 0))
	}
	if status := m.GetEdgeStatusResponse(); status != nil && status.EdgeId == e.id {
		e.mu.Lock()
		e.last = status
		e.mu.Unlock()
	}
	if m.ReplyTo != 0 {
		e.mu.Lock()
		reply := e.pending[m.ReplyTo]
		delete(e.pending, m.ReplyTo)
		e.mu.Unlock()
		if reply != nil {
			reply <- m // has room for the one answer
		}
	}
	return nil
}

var frames = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

func (e *edge) send(m *iopv1.Envelope) error {
	b := frames.Get().(*[]byte)
	defer frames.Put(b)
	frame, err := wire.AppendFrame((*b)[:0], m)
	if err != nil {
		return err
	}
	*b = frame
	return e.writeFrame(frame)
}

func (e *edge) writeFrame(frame []byte) error {
	e.write.Lock()
	defer e.write.Unlock()
	_ = e.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := e.conn.Write(frame)
	return err
}

var errBusy = errors.New("too many requests are unanswered")

// askStatus makes the round trip.
func (e *edge) askStatus(ctx context.Context, timeout time.Duration) (*iopv1.EdgeStatusResponse, error) {
	m, err := e.ask(ctx, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusRequest{
		EdgeStatusRequest: &iopv1.EdgeStatusRequest{Timeout: durationpb.New(timeout)}}})
	if err != nil {
		return nil, err
	}
	if status := m.GetEdgeStatusResponse(); status != nil {
		return status, nil
	}
	return nil, errNonsense
}

var errNonsense = errors.New("nonsense")

// ask sends a request, which gets an id, and waits for its answer.
func (e *edge) ask(ctx context.Context, request *iopv1.Envelope) (*iopv1.Envelope, error) {
	reply := make(chan *iopv1.Envelope, 1)
	e.mu.Lock()
	if len(e.pending) >= maxInFlight {
		e.mu.Unlock()
		return nil, errBusy
	}
	if e.pending == nil {
		e.pending = map[uint64]chan *iopv1.Envelope{}
	}
	e.nextID++
	request.Id = e.nextID
	e.pending[request.Id] = reply
	e.mu.Unlock()
	err := e.send(request)
	if err == nil {
		select {
		case m := <-reply:
			return m, nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	e.mu.Lock()
	delete(e.pending, request.Id)
	e.mu.Unlock()
	return nil, err
}
