package main

import (
	"context"
	"errors"
	"net"
	"sync"

	load "iop/load/fleet"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// edge is a simulated Edge that answers status requests and commands at once. That of load/fleet makes a new snapshot for each answer, with a
// stamp, and keeps books, which would take CPU from the measured server. This one sends bytes that were encoded before, when it is
// told to, and counts Pongs, which say that the server has read all that came before.
type edge struct {
	f        *fleet
	number   int
	id       string
	snapshot []byte // encoded
	dialer   net.Dialer

	mu   sync.Mutex // held while something is written
	conn net.Conn
}

var errRefused = errors.New("the hello was refused")

// dial connects, and returns when the hello was answered. Whatever takes long here slows the server's machine, so that no
// deadline is set: who waits for the whole fleet ends its process.
func (e *edge) dial() error {
	conn, err := e.dialer.Dial("tcp", e.f.address)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.conn = conn
	e.mu.Unlock()
	frames := wire.NewFrameReader(conn, wire.DefaultMaxFrameBytes)
	err = e.send(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: hello(e.number)}})
	if err == nil {
		var m *iopv1.Envelope
		if m, err = next(frames); err == nil && m.GetEdgeHelloResponse() == nil {
			err = errRefused
		}
	}
	if err != nil {
		conn.Close()
		return err
	}
	e.f.running.Go(func() { e.serve(frames) })
	return nil
}

// dialerOf gives each Edge an address of its own.
func dialerOf(address string, number int) net.Dialer {
	return net.Dialer{LocalAddr: load.Source(address, number), KeepAlive: -1} // there are heartbeats
}

func next(frames *wire.FrameReader) (*iopv1.Envelope, error) {
	frame, err := frames.Next()
	if err != nil {
		return nil, err
	}
	return wire.Decode(frame)
}

// serve answers until the connection ends.
func (e *edge) serve(frames *wire.FrameReader) {
	for {
		m, err := next(frames)
		if err != nil {
			return
		}
		switch {
		case m.GetEdgeStatusRequest() != nil:
			err = e.write(appendAnswer(nil, e.snapshot, m.Id))
		case m.GetEdgeCommandRequest() != nil:
			err = e.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: &iopv1.EdgeCommandResponse{
				CommandId: m.GetEdgeCommandRequest().CommandId, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED}}})
		case m.GetPong() != nil && m.ReplyTo == counted:
			e.f.pings.Release(1)
		}
		if err != nil {
			return
		}
	}
}

// counted is the number of the Pings whose Pongs are waited for.
const counted = 1

// ping sends one; how many may be unanswered in the whole fleet is bounded.
func (e *edge) ping(ctx context.Context) error {
	if err := e.f.pings.Acquire(ctx, 1); err != nil {
		return err
	}
	return e.send(&iopv1.Envelope{Id: counted, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}})
}

func (e *edge) push() error { return e.write(appendAnswer(nil, e.snapshot, 0)) }

func (e *edge) send(m *iopv1.Envelope) error {
	frame, err := wire.AppendFrame(nil, m)
	if err != nil {
		return err
	}
	return e.write(frame)
}

func (e *edge) write(frame []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.conn.Write(frame)
	return err
}

// cut resets the connection, so that its port is free at once.
func (e *edge) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return
	}
	if tcp, ok := e.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	e.conn.Close()
}
