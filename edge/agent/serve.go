package agent

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// updateGap is the least time between two updates; changes in between are one.
const updateGap = 100 * time.Millisecond

// connection is one link to the Edge after its hello.
type connection struct {
	link      *wire.TCPLink
	frames    *wire.FrameReader // the reader's alone
	edgeID    string
	heartbeat time.Duration
	maxFrame  int
	in        chan *iopv1.NodeEnvelope // closed when the reader has ended, and the connection with it
	why       string                   // the reader ended; to be read after in is closed
	lost      string                   // why the owner ended it; the owner's alone
}

func newConnection(conn net.Conn, frames *wire.FrameReader, welcome *iopv1.NodeHelloResponse) *connection {
	c := &connection{
		frames: frames, edgeID: welcome.EdgeId,
		heartbeat: wire.Heartbeat(welcome.HeartbeatInterval.AsDuration(), wire.DefaultNodeHeartbeat),
		maxFrame:  min(wire.FrameLimit(welcome.MaxFrameBytes), wire.DefaultMaxFrameBytes),
		in:        make(chan *iopv1.NodeEnvelope),
	}
	c.link = wire.NewTCPLink(conn, &linkOptions, c)
	return c
}

// read is the reader's goroutine: it hands over what comes, one message at a time.
func (c *connection) read() {
	defer close(c.in)
	for {
		c.link.ReadBy(time.Now().Add(wire.SilentAfter(c.heartbeat)))
		payload, err := c.frames.Next()
		var e *iopv1.NodeEnvelope
		if err == nil {
			e, err = wire.DecodeNode(payload)
		}
		if err != nil {
			c.why = "The connection to the Edge ended: " + err.Error()
			break
		}
		select {
		case c.in <- e:
			continue
		case <-c.link.Done():
		}
		break
	}
	c.link.Drain()
}

// serve handles a connection until it is over, whoever ends it.
func (a *Agent) serve(ctx context.Context, c *connection) (end dial.Ending) {
	go c.read()
	beat := time.NewTicker(c.heartbeat)
	defer beat.Stop()
	told := a.look()
	c.send(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_NodeReady{NodeReady: &iopv1.NodeReady{Providers: told.providers, Loads: told.loads(time.Now())}}})
	var due <-chan time.Time // an update is
	stopping := ctx.Done()
	for {
		select {
		case e, open := <-c.in:
			if !open {
				end.Why = cmp.Or(end.Why, c.lost, c.why)
				return end
			}
			c.take(e, &end)
		case <-beat.C:
			c.send(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.Now()}}})
			told = c.update(told, a.look())
		case <-a.news:
			if due == nil {
				due = time.After(updateGap)
			}
		case <-due:
			due = nil
			told = c.update(told, a.look())
		case <-stopping:
			stopping = nil
			c.send(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN}}})
			c.link.Finish()
		}
	}
}

// update tells how the providers are now, unless it is as was told.
func (c *connection) update(told, now *statement) *statement {
	if now.equal(told) {
		return told
	}
	update := &iopv1.NodeUpdate{Providers: now.providers, Loads: now.loads(time.Now())}
	c.send(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_NodeUpdate{NodeUpdate: update}})
	return now
}

// take acts on one message from the Edge.
func (c *connection) take(e *iopv1.NodeEnvelope, end *dial.Ending) {
	switch body := e.Body.(type) {
	case *iopv1.NodeEnvelope_Ping:
		c.send(&iopv1.NodeEnvelope{ReplyTo: e.Id, Body: &iopv1.NodeEnvelope_Pong{Pong: &iopv1.Pong{SentAt: body.Ping.SentAt}}})
	case *iopv1.NodeEnvelope_Pong:
	case *iopv1.NodeEnvelope_GoAway:
		*end = *theEdge.GoneAway(body.GoAway, time.Now())
		c.link.Finish()
	case *iopv1.NodeEnvelope_Error:
		*end = *theEdge.Refused(body.Error)
	default:
		if e.Id != 0 && e.ReplyTo == 0 {
			unknown := &wire.Fault{Code: wire.Unimplemented, Message: "this agent doesn't know that message"}
			c.link.Send(unknown.Envelope(e.Id), "")
		}
	}
}

// send hands over a message. One that the Edge can't take ends the connection.
func (c *connection) send(e *iopv1.NodeEnvelope) {
	frame, err := wire.AppendFrame(nil, e)
	switch {
	case err != nil:
		c.lost = "A message can't be encoded: " + err.Error()
	case len(frame)-wire.HeaderBytes > c.maxFrame:
		c.lost = fmt.Sprintf("A message of %d bytes is over the Edge's limit of %d.", len(frame)-wire.HeaderBytes, c.maxFrame)
	case c.link.SendFrame(frame) == wire.Full:
		c.lost = "The Edge doesn't read what it is sent."
	default:
		return
	}
	c.link.Abort()
}

// FrameBegun implements wire.LinkEvents; nothing here is tagged.
func (c *connection) FrameBegun(string) {}

// WriteStalled implements wire.LinkEvents; the reader sees the end of the connection.
func (c *connection) WriteStalled() {}
