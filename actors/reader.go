package actors

import (
	"errors"
	"net"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// reader is a connection's one permanent goroutine: it decodes frames and sends them to the actor, whose state it
// never touches. A heartbeat ends here: it moves the pulse, is answered through the link, and wakes nobody.
type reader struct {
	sys    *System
	conn   net.Conn
	link   *wire.TCPLink
	pid    *actor.PID
	pulse  *Pulse
	credit credit
}

// claimTime is how long a claim may take to be decided: more than the present owner's time to answer a Ping, and an end
// for one that the registry lost.
const claimTime = ownerProbeTime + answerTime

// run reads until the connection ends. After the hello it goes on when ready is closed.
//
// What is on the stack while it waits for a frame decides whether Go shrinks the stack to 4 KiB or leaves it at 8, for each
// idle Edge; so the loop is here, and all that a frame needs is in take.
func (r *reader) run(ready <-chan struct{}) {
	frames := wire.NewFrameReader(r.conn, wire.MaxHelloBytes)
	if r.hello(frames) && r.admitted(frames, ready) {
		for {
			frame, err := frames.Next()
			if !r.take(frame, err) {
				break
			}
		}
	}
	r.link.Drain()
	r.send(&linkEnded{})
}

// hello reads the first frame, under the deadline that also bounds a TLS handshake.
func (r *reader) hello(frames *wire.FrameReader) bool {
	r.link.ReadBy(time.Now().Add(r.sys.opts.HelloTimeout))
	frame, err := frames.Next()
	m, ok := r.decode(frame, err)
	if ok {
		r.send(&helloRead{envelope: m, certNames: wire.PeerDNSNames(r.conn)})
	}
	return ok
}

// admitted waits until the hello was accepted; false when it wasn't.
func (r *reader) admitted(frames *wire.FrameReader, ready <-chan struct{}) bool {
	timer := time.NewTimer(claimTime)
	defer timer.Stop()
	select {
	case <-ready:
		r.link.ReadBy(time.Time{})
		frames.SetMax(r.sys.opts.MaxFrameBytes)
		return true
	case <-r.link.Done():
	case <-timer.C:
	}
	return false
}

// take handles what came of one read; false when it was the last.
func (r *reader) take(frame []byte, err error) bool {
	m, ok := r.decode(frame, err)
	if !ok {
		return false
	}
	if ping := m.GetPing(); ping != nil && m.ReplyTo == 0 {
		r.pong(m.Id, ping)
		return true
	}
	var message any = m
	if status := m.GetEdgeStatusResponse(); status != nil {
		message = &statusRead{m, newSnapshot(status.EdgeId, status, encodingOf(frame, status), time.Now())}
	}
	if !r.takeCredit() {
		return false
	}
	r.send(message)
	return true
}

// takeCredit waits while too much of this Edge is under way; false when the link ended first.
func (r *reader) takeCredit() bool {
	select {
	case r.credit <- struct{}{}:
		return true
	default:
	}
	select {
	case r.credit <- struct{}{}:
		return true
	case <-r.link.Done():
		return false
	}
}

// decode gives the envelope of a frame; false when there is none, and then the actor knows why if it was the peer's fault.
func (r *reader) decode(frame []byte, err error) (*iopv1.Envelope, bool) {
	if r.link.Ended() { // nothing that comes after a last word is acted on
		return nil, false
	}
	if err == nil {
		r.pulse.lastSeen.Store(r.sys.clock.mono())
		r.sys.counters.edgeWire.Read(frame)
		var m *iopv1.Envelope
		if m, err = wire.Decode(frame); err == nil {
			return m, true
		}
	}
	switch {
	case errors.Is(err, wire.ErrFrameLength):
		r.send(&linkFault{invalid("a frame's length must be from 1 byte to the limit in force")})
		<-r.link.Done()
	case errors.Is(err, wire.ErrUndecodable):
		r.send(&linkFault{invalid("a frame that is not a decodable Envelope")})
		<-r.link.Done()
	}
	return nil, false
}

// pong answers a heartbeat, with a new interval when the fleet's has changed.
func (r *reader) pong(id uint64, ping *iopv1.Ping) {
	now := time.Now()
	if ping.SentAt.IsValid() {
		r.pulse.skew.Store(int64(ping.SentAt.AsTime().Sub(now)))
		r.pulse.skewed.Store(true)
	}
	var changed time.Duration
	if want := r.sys.heartbeat.Load(); want != r.pulse.interval.Load() {
		changed = time.Duration(want)
	}
	if r.sendPong(id, ping.SentAt, now, changed) && changed != 0 {
		r.pulse.interval.Store(int64(changed))
	}
}

func (r *reader) sendPong(id uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) bool {
	result := r.link.SendPong(id, sentAt, now, interval)
	return result == wire.Sent || result == wire.Queued
}

func (r *reader) send(m any) { r.sys.root().Send(r.pid, m) }
