package nodes

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"iop/edge"
	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// connection is one agent's. It has one goroutine, which reads a message, acts on it, and reads the next: an agent
// that floods is slowed by TCP. Whoever takes its place may end its link.
type connection struct {
	site   *Site
	conn   net.Conn
	link   *wire.TCPLink
	frames *wire.FrameReader
	log    *slog.Logger

	nodeID   string // these are set by the hello
	instance string
	token    claimToken
	pong     [96]byte // reused
}

func (s *Site) newConnection(conn net.Conn) *connection {
	c := &connection{site: s, conn: conn, frames: wire.NewFrameReader(conn, wire.MaxHelloBytes), log: s.log}
	c.link = wire.NewTCPLink(conn, &linkOptions, c)
	return c
}

// run handles the connection until it is over.
func (c *connection) run() {
	c.link.ReadBy(time.Now().Add(helloTimeout))
	if c.hello() {
		c.frames.SetMax(maxFrameBytes)
		for c.turn() {
		}
		if o := c.site.release(c); !o.stale {
			c.log.Info("A node's agent is gone.", "node_id", c.nodeID)
		}
	}
	c.link.Drain()
}

// next gives the next message, or false when there is none and the connection is over.
func (c *connection) next() (*iopv1.NodeEnvelope, bool) {
	payload, err := c.frames.Next()
	if c.link.Ended() { // nothing that comes after a last word is acted on
		return nil, false
	}
	var e *iopv1.NodeEnvelope
	if err == nil {
		e, err = wire.DecodeNode(payload)
	}
	switch {
	case errors.Is(err, wire.ErrFrameLength):
		return nil, c.refuse(0, wire.Invalid("a frame's length must be from 1 byte to the limit in force"))
	case errors.Is(err, wire.ErrUndecodable):
		return nil, c.refuse(0, wire.Invalid("a frame that is not a decodable NodeEnvelope"))
	}
	return e, err == nil
}

// refuse says no and ends the connection; it is false for its callers to return.
func (c *connection) refuse(replyTo uint64, f *wire.Fault) bool {
	c.log.Warn("A Node agent was refused.", "node_id", text.Clip(c.nodeID, wire.MaxTextBytes), "why", f.Message)
	c.link.Send(f.Envelope(replyTo), "")
	c.link.Finish()
	return false
}

// hello takes the first message and makes the connection the owner of its node.
func (c *connection) hello() bool {
	e, ok := c.next()
	if !ok {
		return false
	}
	h := e.GetNodeHelloRequest()
	if h == nil {
		return c.refuse(e.Id, &wire.Fault{Code: wire.FailedPrecondition, Message: "the first message must be a hello"})
	}
	c.nodeID, c.instance = h.NodeId, h.InstanceId
	if f := checkHello(h); f != nil {
		return c.refuse(e.Id, f)
	}
	n := c.site.declared[h.NodeId]
	if f := admit(n, h.Token); f != nil {
		return c.refuse(e.Id, f)
	}
	before, granted := c.site.claim(c, identity{name: h.Name, labels: h.Labels})
	if !granted { // the Edge stops, and says so
		return false
	}
	if before != nil {
		c.logTakeover(before)
		before.goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED)
	}
	c.log.Info("A node's agent is accepted.", "node_id", c.nodeID, "version", h.Version, "instance_id", h.InstanceId)
	return c.welcome(e.Id)
}

// logTakeover tells a connection that came back from two agents that use one id: those go on taking each other's place, as
// slowly as their longest wait allows.
func (c *connection) logTakeover(before *connection) {
	if before.instance == c.instance {
		c.log.Info("A node's agent took the place of its older connection.", "node_id", c.nodeID)
		return
	}
	c.log.Warn("Another agent took a node's place; unless it was restarted, the id is used twice.", "node_id", c.nodeID,
		"instance_id", c.instance, "before", before.instance)
}

// welcome answers the hello.
func (c *connection) welcome(replyTo uint64) bool {
	c.heard()
	answer := &iopv1.NodeEnvelope{ReplyTo: replyTo, Body: &iopv1.NodeEnvelope_NodeHelloResponse{NodeHelloResponse: &iopv1.NodeHelloResponse{
		EdgeId: c.site.opts.EdgeID, EdgeVersion: c.site.opts.Version, ProtocolVersion: wire.ProtocolVersion,
		HeartbeatInterval: durationpb.New(c.site.opts.HeartbeatInterval), MaxFrameBytes: maxFrameBytes,
	}}}
	if frame, err := wire.AppendFrame(nil, answer); err == nil {
		c.send(frame)
	} else {
		c.log.Error("The answer to a hello can't be encoded.", "error", err)
		c.link.Abort()
	}
	// Whatever became of the answer, the loop that follows finds out and releases the place.
	c.site.step(c.nodeID, func(t *table) outcome { return t.answered(c.nodeID, c.token) })
	return true
}

// heard gives the agent time for its next sign of life.
func (c *connection) heard() {
	c.link.ReadBy(time.Now().Add(wire.SilentAfter(c.site.opts.HeartbeatInterval)))
}

// turn takes one message; false when the connection is over.
func (c *connection) turn() bool {
	e, ok := c.next()
	if !ok {
		return false
	}
	c.heard()
	if ping := e.GetPing(); ping != nil {
		return c.send(wire.AppendPong(c.pong[:0], e.Id, ping.SentAt, time.Now(), 0))
	}
	if e.ReplyTo != 0 {
		return true // an answer, and this side asks nothing
	}
	switch body := e.Body.(type) {
	case *iopv1.NodeEnvelope_NodeReady:
		return c.told(e.Id, body.NodeReady, (*table).ready)
	case *iopv1.NodeEnvelope_NodeUpdate:
		return c.told(e.Id, body.NodeUpdate, (*table).update)
	case *iopv1.NodeEnvelope_GoAway:
		c.link.Finish()
		return false
	case *iopv1.NodeEnvelope_NodeHelloRequest:
		return c.refuse(e.Id, &wire.Fault{Code: wire.FailedPrecondition, Message: "a second hello"})
	case *iopv1.NodeEnvelope_Error, *iopv1.NodeEnvelope_Pong:
		return true
	}
	if e.Id == 0 {
		return true
	}
	unknown := &wire.Fault{Code: wire.Unimplemented, Message: "this Edge doesn't know that message"}
	return sent(c.link.Send(unknown.Envelope(e.Id), ""))
}

// statement is what NodeReady and NodeUpdate are.
type statement interface {
	GetProviders() []*iopv1.EdgeProviderSnapshot
	GetLoads() []*iopv1.NodeLoad
}

// told takes a statement about providers.
func (c *connection) told(id uint64, told statement, step func(*table, string, claimToken, []edge.Provider) outcome) bool {
	if f := checkProviders(told.GetProviders()); f != nil {
		return c.refuse(id, f)
	}
	providers := providersOf(told, time.Now())
	o := c.site.step(c.nodeID, func(t *table) outcome { return step(t, c.nodeID, c.token, providers) })
	if o.outOfTurn {
		return c.refuse(id, &wire.Fault{Code: wire.FailedPrecondition, Message: "ready is said once, and updates come after it"})
	}
	if o.event == nodeReady {
		c.log.Info("A node is ready.", "node_id", c.nodeID, "providers", len(providers))
	}
	return true
}

// goAway says goodbye and ends the connection; anybody may call it.
func (c *connection) goAway(reason iopv1.GoAwayReason) {
	c.link.Send(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: reason}}}, "")
	c.link.Finish()
}

func (c *connection) send(frame []byte) bool { return sent(c.link.SendFrame(frame)) }

func sent(r wire.SendResult) bool { return r == wire.Sent || r == wire.Queued }

// FrameBegun implements wire.LinkEvents; nothing here is tagged.
func (c *connection) FrameBegun(string) {}

// WriteStalled implements wire.LinkEvents; the reader sees the end of the connection.
func (c *connection) WriteStalled() {}
