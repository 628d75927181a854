package actors

import (
	"errors"
	"net"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// reader makes messages to the connection's actor of the frames that come, and never touches its state. Heartbeats and pushed
// snapshots end here: they move the pulse, a heartbeat is answered through the link, and nobody wakes.
//
// Who brings the frames is one of two: wire's poller, which reads all plain TCP on Linux with one goroutine, or a goroutine of
// the connection's own (run) for TLS, pipes and other systems. It stops after the hello, until the actor has it resumed.
type reader struct {
	linkEvents
	link       edgeLink
	pulse      *Pulse
	credit     credit
	edgeID     string // as the hello has it
	helloTaken bool
}

// edgeLink is what both ways to read have to write to.
type edgeLink interface {
	wire.Link
	Ended() bool
	OverTLS() bool
	PeerDNSNames() []string
	PeerEnded() bool
	SendPong(replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) wire.SendResult
}

// MaxFrame is smaller for a hello.
func (r *reader) MaxFrame() int {
	if r.helloTaken {
		return r.sys.opts.MaxFrameBytes
	}
	return wire.MaxHelloBytes
}

// TakeFrame takes one frame, or why there is none.
func (r *reader) TakeFrame(frame []byte, err error) (next wire.Next) {
	defer func() {
		if reason := recover(); reason != nil {
			r.sys.readerPanicked(reason, r.link)
			next = wire.Halt
		}
	}()
	var m *iopv1.Envelope
	if err == nil {
		r.pulse.lastSeen.Store(r.sys.clock.mono())
		r.sys.counters.edgeWire.Read(frame)
		m, err = wire.Decode(frame)
	}
	switch {
	case errors.Is(err, wire.ErrFrameLength):
		return r.fault("a frame's length must be from 1 byte to the limit in force")
	case err != nil:
		return r.fault("a frame that is not a decodable Envelope")
	case !r.helloTaken:
		r.helloTaken, r.edgeID = true, m.GetEdgeHelloRequest().GetEdgeId()
		r.send(&helloRead{envelope: m, certNames: r.link.PeerDNSNames()})
		return wire.Hold // whether there is anything to be read is decided now
	}
	if ping := m.GetPing(); ping != nil && m.ReplyTo == 0 {
		r.pong(m.Id, ping)
		return wire.ReadOn
	}
	var message any = m
	if status := m.GetEdgeStatusResponse(); status != nil {
		s := r.snapshot(frame, status)
		if m.ReplyTo == 0 {
			r.pulse.keep(s)
			return wire.ReadOn
		}
		message = &statusRead{m, s}
	}
	stop := r.credit.take() // before it can be given back
	r.send(message)
	switch {
	case m.GetEdgeHelloRequest() != nil && m.ReplyTo == 0: // the actor refuses it, and what is behind it isn't acted on
		return wire.Halt
	case stop:
		return wire.Hold
	default:
		return wire.ReadOn
	}
}

// snapshot is what is kept of a status; nil when it names another Edge, which is counted. One that names none is its sender's.
func (r *reader) snapshot(frame []byte, m *iopv1.EdgeStatusResponse) *Snapshot {
	if m.EdgeId != "" && m.EdgeId != r.edgeID {
		r.sys.counters.foreign.Add(1)
		return nil
	}
	return newSnapshot(r.edgeID, m, encodingOf(frame, m), time.Now())
}

// fault tells the actor what the peer did; its last word ends the link.
func (r *reader) fault(sentence string) wire.Next {
	r.send(&linkFault{wire.Invalid(sentence)})
	return wire.Halt
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

// LinkClosed tells the actor that no more comes.
func (r *reader) LinkClosed() { r.send(&linkEnded{}) }

// run reads in a goroutine of its own, until the connection ends.
//
// What is on the stack while it waits for a frame decides whether Go shrinks the stack to 4 KiB or leaves it at 8, for each
// idle Edge; so the loop is here, and all that a frame needs is in takeNext.
func (r *reader) run(conn net.Conn, link *wire.TCPLink, p pause) {
	frames := wire.NewFrameReader(conn, r.MaxFrame())
	var frame []byte
	var err error
	for {
		frame, err = frames.Next()
		if !r.takeNext(frame, err, p) {
			break
		}
		frames.SetMax(r.MaxFrame())
	}
	if wire.TLSFailed(conn, err) && !link.Ended() {
		r.sys.tlsFailed(conn.RemoteAddr(), err)
	}
	link.Drain()
	r.LinkClosed()
}

// takeNext handles what came of one read; false when it was the last.
func (r *reader) takeNext(frame []byte, err error, p pause) bool {
	if err != nil && !errors.Is(err, wire.ErrFrameLength) || r.link.Ended() { // nothing that comes after a last word is acted on
		return false
	}
	switch r.TakeFrame(frame, err) {
	case wire.Hold:
		return p.wait(r.link.Done())
	case wire.Halt:
		<-r.link.Done()
		return false
	default:
		return true
	}
}
