package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// client is one Client's connection. All it serves so far is the hello and the Ping that its reader answers.
type client struct {
	sys    *System
	conn   *wire.WebSocketConn
	ready  chan<- time.Duration // nil once the hello was accepted
	known  bool                 // counts as connected
	credit *credit
}

// Reader → client. Every decoded *iopv1.Envelope but a Ping comes as it is.
type (
	clientStart struct{ conn *wire.WebSocketConn }
	// clientFault: the peer broke a rule; the reader reads no more.
	clientFault struct {
		fault *wire.Fault // to be said before the close frame, or nil
		code  int         // of the close frame
	}
)

func (c *client) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *clientStart:
		c.start(ctx, m.conn)
	case *iopv1.Envelope:
		c.envelope(m)
	case *clientFault:
		c.broken(m)
	case *goAway:
		c.goAway(m)
	case *stalled:
		c.conn.Abort()
	case *linkEnded:
		ctx.Stop(ctx.Self())
	case *actor.Stopping:
		c.stopping()
	}
}

func (c *client) start(ctx actor.Context, conn *wire.WebSocketConn) {
	ready := make(chan time.Duration, 1)
	p := newPause()
	c.conn, c.ready, c.credit = conn, ready, &credit{reader: p}
	r := &clientReader{sys: c.sys, conn: conn, pid: ctx.Self(), credit: c.credit, pause: p}
	conn.Notify(&linkEvents{sys: c.sys, pid: ctx.Self()}, r.alive)
	go r.run(ready)
}

func (c *client) envelope(m *iopv1.Envelope) {
	defer c.credit.giveBack()
	switch hello := m.GetClientHelloRequest(); {
	case c.ready != nil:
		c.hello(m, hello)
	case hello != nil && m.ReplyTo == 0:
		c.send(faultSecondHello.Envelope(m.Id))
	case m.ReplyTo != 0:
		c.sys.counters.unmatched.Add(1) // nothing is ever asked of a Client
	case m.Id != 0:
		c.send(faultUnimplemented.Envelope(m.Id))
	}
}

func (c *client) hello(m *iopv1.Envelope, h *iopv1.ClientHelloRequest) {
	if h == nil || m.ReplyTo != 0 {
		c.refuseHello(faultClientHelloFirst, m.Id, wire.CloseProtocol)
		return
	}
	if f := checkClientHello(h); f != nil {
		c.refuseHello(f, m.Id, wire.CloseProtocol)
		return
	}
	if keys := c.sys.Keys(); len(keys.Operators) > 0 {
		if _, ok := keys.Operator(h.Token); !ok {
			c.refuseHello(faultWrongToken, m.Id, wire.ClosePolicy)
			return
		}
	}
	interval := c.sys.HeartbeatInterval()
	c.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_ClientHelloResponse{ClientHelloResponse: &iopv1.ClientHelloResponse{
		ServerId:          c.sys.opts.ServerID,
		ServerVersion:     c.sys.opts.Version,
		ProtocolVersion:   wire.ProtocolVersion,
		HeartbeatInterval: durationpb.New(interval),
		MaxFrameBytes:     uint32(c.sys.opts.MaxFrameBytes),
		ServerTime:        timestamppb.Now(),
	}}})
	c.ready <- interval
	c.ready, c.known = nil, true
	c.sys.counters.clients.Add(1)
}

func (c *client) stopping() {
	if c.known {
		c.sys.counters.clients.Add(-1)
	}
	if c.conn != nil {
		c.conn.Abort()
	}
}

func checkClientHello(h *iopv1.ClientHelloRequest) *wire.Fault {
	if f := wire.CheckVersion(h.ProtocolVersion); f != nil {
		return f
	}
	if over := wire.HelloOver(map[string]string{"client_id": h.ClientId, "name": h.Name, "version": h.Version}, nil); over != nil {
		return wire.Invalid(over[0])
	}
	return nil
}

// send closes a Client whose queue is full: it doesn't read, and must not cost more than that queue.
func (c *client) send(m *iopv1.Envelope) {
	if c.conn.Send(m, "") == wire.Full {
		c.conn.Abort()
	}
}

// broken ends the connection of a Client that broke a rule. One that did so before its hello is counted as a refused hello.
func (c *client) broken(m *clientFault) {
	if c.ready != nil && m.fault != nil {
		c.refuseHello(m.fault, 0, m.code)
		return
	}
	c.refuse(m.fault, 0, m.code)
}

func (c *client) refuseHello(f *wire.Fault, replyTo uint64, code int) {
	c.sys.counters.clientRefusals.add(string(f.Code), 1)
	c.refuse(f, replyTo, code)
}

func (c *client) refuse(f *wire.Fault, replyTo uint64, code int) {
	if f != nil {
		c.conn.SendControl(f.Envelope(replyTo))
	}
	c.conn.FinishWith(code)
}

func (c *client) goAway(m *goAway) {
	c.conn.SendControl(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, "the Control Plane is stopping", m.reconnectAfter))
	c.conn.FinishWith(wire.CloseGoingAway)
}

var (
	faultClientHelloFirst = &wire.Fault{Code: wire.FailedPrecondition, Message: "the first message must be a ClientHelloRequest"}
	faultWrongToken       = &wire.Fault{Code: wire.Unauthenticated, Message: "token missing or wrong"}
	faultNotAnEnvelope    = wire.Invalid("a message that is not a decodable Envelope")
)
