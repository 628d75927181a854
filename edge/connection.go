package edge

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What may wait to be written. When it is full a question after the status is answered with an Error, for which there is
// mostly room where a snapshot has none, and a push waits for its turn. When there is no room even for what is small, the
// Control Plane doesn't read, and the connection is ended: the next one starts with a whole snapshot and the question after
// every command, so that nothing is lost that matters.
var linkOptions = wire.LinkOptions{MaxQueueFrames: 4096, MaxQueueBytes: 16 << 20, WriteTimeout: 10 * time.Second}

// connection is one link to the Control Plane after its hello. Its owner takes what comes from in, until that is closed;
// anybody may send.
type connection struct {
	conn      net.Conn
	frames    *wire.FrameReader // the reader's alone
	link      wire.Link
	log       *slog.Logger
	maxFrame  int
	heartbeat time.Duration // as the hello's answer says
	since     time.Time

	in chan *iopv1.Envelope // closed when the reader has ended, and the connection with it

	mu  sync.Mutex
	why string // it ended; the first reason stays
}

func newConnection(conn net.Conn, frames *wire.FrameReader, hello *iopv1.EdgeHelloResponse, since time.Time, log *slog.Logger) *connection {
	c := &connection{
		conn: conn, frames: frames, log: log, since: since, in: make(chan *iopv1.Envelope),
		maxFrame: wire.FrameLimit(hello.MaxFrameBytes), heartbeat: hello.HeartbeatInterval.AsDuration(),
	}
	frames.SetMax(c.maxFrame)
	c.link = wire.NewTCPLink(conn, &linkOptions, c)
	return c
}

// read is the reader's goroutine: it hands over what comes, one message at a time, and so reads no faster than the
// owner acts.
func (c *connection) read() {
	defer close(c.in)
	defer c.conn.Close()
	for {
		e, err := c.next()
		if err != nil {
			c.broken(err)
			return
		}
		select {
		case c.in <- e:
		case <-c.link.Done():
			c.discard()
			return
		}
	}
}

func (c *connection) next() (*iopv1.Envelope, error) {
	payload, err := c.frames.Next()
	if err != nil {
		return nil, err
	}
	return wire.Decode(payload)
}

// broken ends the connection for what was read, or for the lack of it.
func (c *connection) broken(err error) {
	switch {
	case errors.Is(err, wire.ErrFrameLength), errors.Is(err, wire.ErrUndecodable):
		c.ended("The Control Plane sent a frame that can't be read: " + err.Error())
		fault := &wire.Fault{Code: wire.InvalidRequest, Message: "The frame can't be read."}
		c.send(fault.Envelope(0))
		c.link.Finish()
		c.discard()
	case errors.Is(err, io.EOF):
		c.ended("The Control Plane closed the connection.")
		c.link.Abort()
	default:
		c.ended("The connection broke: " + err.Error())
		c.link.Abort()
	}
}

// discard reads on until the link, which sets a deadline, closes.
func (c *connection) discard() { _, _ = io.Copy(io.Discard, c.conn) }

// send hands over a message. It is false when the connection is over, as it is when there is no room. What can't be sent
// at all is logged and dropped.
func (c *connection) send(e *iopv1.Envelope) bool {
	r := c.trySend(e)
	if r == wire.Full {
		c.ended("The Control Plane doesn't read what it is sent.")
		c.link.Abort()
	}
	return r != wire.Full && r != wire.Closed
}

// trySend is send for what can be done without: it is Full when there is no room. What is over the frame limit is Unsendable, too.
func (c *connection) trySend(e *iopv1.Envelope) wire.SendResult {
	frame, err := wire.AppendFrame(nil, e)
	if err != nil {
		c.log.Error("A message can't be encoded and is not sent.", "error", err)
		return wire.Unsendable
	}
	if size := len(frame) - wire.HeaderBytes; size > c.maxFrame {
		c.log.Error("A message is over the frame limit and is not sent.", "bytes", size, "max_frame_bytes", c.maxFrame)
		return wire.Unsendable
	}
	return c.link.SendFrame(frame)
}

// fits is asked before anything is sent whose size others decide: what the Control Plane can't take ends the connection, and
// such an outcome would end each later connection, too, which begins with a question about it.
func (c *connection) fits(e *iopv1.Envelope) bool { return wire.Fits(e, c.maxFrame) }

// answerCommand implements answerer.
func (c *connection) answerCommand(replyTo uint64, r *iopv1.EdgeCommandResponse) {
	e := commandAnswer(replyTo, r)
	if !c.fits(e) {
		c.log.Warn("The result of a command is over the frame limit and left out.", "command_id", r.CommandId)
		e = commandAnswer(replyTo, withoutResult(r))
	}
	c.send(e)
}

func commandAnswer(replyTo uint64, r *iopv1.EdgeCommandResponse) *iopv1.Envelope {
	return &iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: r}}
}

// sendEvent implements eventSender.
func (c *connection) sendEvent(e *iopv1.Envelope) bool {
	if ended := e.GetEdgeCommandEvent(); ended != nil && !c.fits(e) {
		c.log.Warn("The result of a command is over the frame limit and left out.", "command_id", ended.CommandId)
		e = commandEvent(&iopv1.EdgeCommandEvent{
			CommandId: ended.CommandId, Phase: ended.Phase, Message: withNote(ended.Message),
			ProgressPercent: ended.ProgressPercent, OccurredAt: ended.OccurredAt,
		})
	}
	return c.send(e)
}

// ended notes why the connection ends.
func (c *connection) ended(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == "" {
		c.why = why
	}
}

func (c *connection) reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// FrameBegun implements wire.LinkEvents; nothing here is tagged.
func (c *connection) FrameBegun(string) {}

// WriteStalled implements wire.LinkEvents.
func (c *connection) WriteStalled() { c.ended("The Control Plane took nothing for too long.") }
