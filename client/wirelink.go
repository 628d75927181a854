package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const pingTimeout = 10 * time.Second

// wireLink is one connection of the Client wire. Whoever connects reads the hello's answer; then serve's goroutine reads.
type wireLink struct {
	ws       *wire.WebSocketConn
	server   *ServerInfo
	interval atomic.Int64  // of heartbeats, in ns; 0 before the hello was accepted
	paced    chan struct{} // gets a value when the interval has changed
	over     chan struct{} // closed when the reader has ended

	mu      sync.Mutex
	why     error // it ended; the first reason stays
	lastID  uint64
	waiting map[uint64]chan<- pong // pings without an answer, by id; those whose caller has gone are taken out
}

type pong struct {
	at   time.Time // it was read
	body *iopv1.Pong
	err  error // what came instead
}

func newWireLink(ws *wire.WebSocketConn) *wireLink {
	l := &wireLink{ws: ws, paced: make(chan struct{}, 1), over: make(chan struct{}), lastID: helloID, waiting: map[uint64]chan<- pong{}}
	ws.Notify(l, l.alive)
	return l
}

// accepted takes over what the hello's answer says.
func (l *wireLink) accepted(s *ServerInfo) {
	l.ws.SetMax(wire.FrameLimit(s.MaxFrameBytes))
	l.pace(s.HeartbeatInterval)
	l.alive()
}

// pace puts a heartbeat interval in force.
func (l *wireLink) pace(interval time.Duration) {
	l.interval.Store(int64(wire.Heartbeat(interval, wire.DefaultHeartbeat)))
}

func (l *wireLink) beat() time.Duration { return time.Duration(l.interval.Load()) }

// alive gives the Control Plane time for its next sign of life.
func (l *wireLink) alive() {
	if beat := l.beat(); beat > 0 {
		l.ws.ReadBy(time.Now().Add(wire.SilentAfter(beat)))
	}
}

// serve sends heartbeats until the connection is over, and gives the reason.
func (l *wireLink) serve(ctx context.Context) error {
	go l.read()
	beats := time.NewTimer(l.beat())
	defer beats.Stop()
	for {
		select {
		case <-beats.C:
			l.send(&iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.Now()}}})
			beats.Reset(l.beat())
		case <-l.paced:
			beats.Reset(l.beat())
		case <-l.over:
			return l.reason()
		case <-ctx.Done():
			l.ended(net.ErrClosed)
			l.ws.Finish()
			<-l.over
			return l.reason()
		}
	}
}

// ping measures one round trip.
func (l *wireLink) ping(ctx context.Context) (RoundTrip, error) {
	answered := make(chan pong, 1)
	id := l.await(answered)
	defer l.forget(id)
	sent := time.Now()
	l.send(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.New(sent)}}})
	late := time.NewTimer(pingTimeout)
	defer late.Stop()
	select {
	case p := <-answered:
		if p.err != nil {
			return RoundTrip{}, p.err
		}
		trip := RoundTrip{Took: p.at.Sub(sent), Server: l.server}
		if p.body.ServerTime.IsValid() {
			trip.ServerTime = p.body.ServerTime.AsTime()
		}
		return trip, nil
	case <-l.over:
		return RoundTrip{}, l.reason()
	case <-late.C:
		return RoundTrip{}, &Unreachable{Err: context.DeadlineExceeded}
	case <-ctx.Done():
		return RoundTrip{}, ctx.Err()
	}
}

func (l *wireLink) await(answered chan<- pong) (id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	l.waiting[l.lastID] = answered
	return l.lastID
}

func (l *wireLink) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, id)
}

// answer gives an answer to whoever waits for it. One that nobody waits for is late and nothing to worry about.
func (l *wireLink) answer(id uint64, p pong) {
	l.mu.Lock()
	answered := l.waiting[id]
	delete(l.waiting, id)
	l.mu.Unlock()
	if answered != nil {
		answered <- p // it has a place
	}
}

// read is the reader's goroutine.
func (l *wireLink) read() {
	defer close(l.over)
	for l.next() {
	}
	l.ws.Drain()
}

// next reads one message and acts on it; false when it was the last.
func (l *wireLink) next() bool {
	payload, err := l.ws.Next()
	if l.ws.Ended() {
		l.ended(lostConnection(errors.New("the connection was ended")))
		return false
	}
	if err != nil {
		l.broken(err)
		return false
	}
	e, err := wire.Decode(payload)
	if err != nil {
		l.ended(lostConnection(err))
		l.ws.FinishWith(wire.CloseProtocol)
		return false
	}
	l.alive()
	l.take(e)
	return true
}

func (l *wireLink) broken(err error) {
	l.ended(lostConnection(err))
	var refused *wire.RefusedMessage
	if errors.As(err, &refused) {
		l.ws.FinishWith(refused.CloseCode)
	}
}

func (l *wireLink) take(e *iopv1.Envelope) {
	if e.ReplyTo != 0 {
		l.takeAnswer(e)
		return
	}
	switch body := e.Body.(type) {
	case *iopv1.Envelope_Ping:
		l.send(&iopv1.Envelope{ReplyTo: e.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{SentAt: body.Ping.SentAt}}})
	case *iopv1.Envelope_Error:
		l.ended(wireProblem(body.Error)) // it closes next
	case *iopv1.Envelope_GoAway:
		l.ended(goAway(body.GoAway)) // it closes next
	case *iopv1.Envelope_Pong: // answers nothing
	default:
		if e.Id != 0 {
			unserved := &wire.Fault{Code: wire.Unimplemented, Message: "a Client doesn't serve this"}
			l.send(unserved.Envelope(e.Id))
		}
	}
}

// takeAnswer ends the wait for an answer, whatever came as one.
func (l *wireLink) takeAnswer(e *iopv1.Envelope) {
	switch body := e.Body.(type) {
	case *iopv1.Envelope_Pong:
		l.takePong(e.ReplyTo, body.Pong)
	case *iopv1.Envelope_Error:
		l.answer(e.ReplyTo, pong{err: wireProblem(body.Error)})
	default:
		l.answer(e.ReplyTo, pong{err: errNonsense})
	}
}

func (l *wireLink) takePong(replyTo uint64, body *iopv1.Pong) {
	if d := body.HeartbeatInterval; d.IsValid() && d.AsDuration() > 0 {
		l.pace(d.AsDuration())
		l.alive()
		select {
		case l.paced <- struct{}{}:
		default:
		}
	}
	l.answer(replyTo, pong{at: time.Now(), body: body})
}

// send ends a connection whose queue is full: the Control Plane doesn't read.
func (l *wireLink) send(e *iopv1.Envelope) {
	if l.ws.Send(e, "") == wire.Full {
		l.ended(lostConnection(errNotRead))
		l.ws.Abort()
	}
}

var errNonsense = errors.New("the Control Plane's answer makes no sense")

var errNotRead = errors.New("the Control Plane doesn't read")

// ended notes why the connection ends.
func (l *wireLink) ended(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
	}
}

func (l *wireLink) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// FrameBegun implements wire.LinkEvents; nothing here is tagged.
func (l *wireLink) FrameBegun(string) {}

// WriteStalled implements wire.LinkEvents.
func (l *wireLink) WriteStalled() { l.ended(lostConnection(errNotRead)) }
