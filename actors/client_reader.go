package actors

import (
	"errors"
	"net"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// clientHelloTime is how long a Client has for its hello.
const clientHelloTime = 10 * time.Second

// clientReader is a Client's one permanent goroutine: it decodes messages, answers Pings, and sends the rest to the actor.
type clientReader struct {
	sys      *System
	conn     *wire.WebSocketConn
	pid      *actor.PID
	credit   *credit
	pause    pause
	interval time.Duration // of heartbeats; 0 before the hello was accepted

	pongFrame [96]byte
}

func (r *clientReader) run(ready <-chan time.Duration) {
	r.conn.ReadBy(time.Now().Add(clientHelloTime))
	if r.read() { // the hello
		select {
		case r.interval = <-ready:
			r.conn.SetMax(r.sys.opts.MaxFrameBytes)
			r.alive()
			for r.read() {
				r.alive()
			}
		case <-r.conn.Done():
		}
	}
	r.conn.Drain()
	r.send(&linkEnded{})
}

// alive gives the Client another 2.5 intervals. WebSocket pings and pongs count, but not as a hello.
func (r *clientReader) alive() {
	if r.interval > 0 {
		r.conn.ReadBy(time.Now().Add(wire.SilentAfter(r.interval)))
	}
}

// read takes one message; false when it was the last.
func (r *clientReader) read() (more bool) {
	defer func() {
		if reason := recover(); reason != nil {
			r.sys.readerPanicked(reason, r.conn)
			more = false
		}
	}()
	payload, err := r.conn.Next()
	if r.conn.Ended() {
		return false
	}
	if err != nil {
		return r.ended(err)
	}
	r.sys.counters.clientWire.Read(payload)
	m, err := wire.Decode(payload)
	if err != nil {
		return r.fault(faultNotAnEnvelope, wire.CloseProtocol)
	}
	if ping := m.GetPing(); ping != nil && m.ReplyTo == 0 && r.interval > 0 {
		return r.pong(m.Id, ping)
	}
	stop := r.credit.take() // before it can be given back
	r.send(m)
	return !stop || r.pause.wait(r.conn.Done())
}

func (r *clientReader) ended(err error) bool {
	var refused *wire.RefusedMessage
	var timeout net.Error // the WebSocket library hides what it wraps
	switch {
	case errors.As(err, &refused):
		return r.fault(nil, refused.CloseCode)
	case errors.As(err, &timeout) && timeout.Timeout():
		return r.fault(nil, wire.ClosePolicy)
	default:
		return false
	}
}

func (r *clientReader) fault(f *wire.Fault, code int) bool {
	r.send(&clientFault{fault: f, code: code})
	<-r.conn.Done()
	return false
}

func (r *clientReader) pong(id uint64, ping *iopv1.Ping) bool {
	var changed time.Duration
	if want := r.sys.HeartbeatInterval(); want != r.interval {
		r.interval, changed = want, want
	}
	if r.conn.SendFrame(wire.AppendPong(r.pongFrame[:0], id, ping.SentAt, time.Now(), changed)) == wire.Full {
		r.conn.Abort()
		return false
	}
	return true
}

func (r *clientReader) send(m any) { r.sys.root().Send(r.pid, m) }
