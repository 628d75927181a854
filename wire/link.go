package wire

import (
	"time"

	iopv1 "iop/proto/iop/v1"
)

// SendResult is what became of an envelope that was handed to a Link.
type SendResult int

const (
	// Sent: its first byte is on the way, and whether it arrives is the peer's to know.
	Sent SendResult = iota
	// Queued: it waits behind others.
	Queued
	// Full: the queue has no room, and nothing was kept.
	Full
	// Unsendable: it can't be encoded (text that isn't UTF-8), and nothing was kept.
	Unsendable
	// Closed: the link takes nothing any more, and nothing was kept.
	Closed
)

// Link is the sending half of one connection, and its end. It never blocks, so that an actor can use it; it
// may be used from several goroutines.
type Link interface {
	// Send encodes and hands over one envelope. A tag that isn't empty names it for FrameBegun and Withdraw.
	Send(e *iopv1.Envelope, tag string) SendResult
	// SendControl is Send for what is about the connection itself, such as a Ping or a GoAway: it has a place even where the queue is
	// full. So it is for what its sender says seldom, and never as often as the peer makes it.
	SendControl(e *iopv1.Envelope) SendResult
	// SendFrame hands over a frame that is encoded already (AppendFrame, AppendPong) and copies it if it must wait.
	SendFrame(frame []byte) SendResult
	// Withdraw takes a waiting frame back; false when there is none, as after FrameBegun.
	Withdraw(tag string) bool
	// Finish ends the connection politely: nothing more is taken, what waits is written, the write half is
	// shut, and what the peer still sends is discarded for lingerTime, so that a reset doesn't eat the last answer.
	Finish()
	// Abort ends the connection at once.
	Abort()
	// Done is closed once Finish or Abort was called.
	Done() <-chan struct{}
}

// LinkEvents is told what happens to a link, from the link's own goroutines or from inside Send. It must not block, nor
// call the link.
type LinkEvents interface {
	// FrameBegun: the first byte of a tagged frame is about to be written. It is said before that, and before Send
	// answers Sent, so that who is told can't hear of the frame's consequences first.
	FrameBegun(tag string)
	// WriteStalled: the peer took nothing for WriteTimeout; the link is about to be aborted. Said once, and not
	// after Finish or Abort.
	WriteStalled()
}

// LinkOptions bound a link.
type LinkOptions struct {
	// MaxQueueFrames and MaxQueueBytes bound what waits to be written; beyond them Send answers Full. One frame
	// always fits an empty queue, and a SendControl any.
	MaxQueueFrames int
	MaxQueueBytes  int
	// WriteTimeout is how long a write may stand still.
	WriteTimeout time.Duration
	// Traffic counts what is sent and what waits; nil counts nothing.
	Traffic *Traffic
}

// lingerTime is how long a link that was finished reads and discards before it closes.
const lingerTime = 500 * time.Millisecond
