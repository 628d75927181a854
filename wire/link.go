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
	// Queued: it waits behind others; a tagged one is reported by LinkEvents.FrameBegun when its turn comes.
	Queued
	// Full: the queue has no room, and nothing was kept.
	Full
	// Closed: the link takes nothing any more, and nothing was kept.
	Closed
)

// Link is the sending half of one connection, and its end. It never blocks, so that an actor can use it; it
// may be used from several goroutines.
type Link interface {
	// Send encodes and hands over one envelope. A tag other than 0 names it for FrameBegun and Withdraw.
	Send(e *iopv1.Envelope, tag uint64) SendResult
	// SendFrame hands over a frame that is encoded already (AppendFrame, AppendPong) and copies it if it must wait.
	SendFrame(frame []byte) SendResult
	// Withdraw takes a waiting frame back; false when its first byte may have been written.
	Withdraw(tag uint64) bool
	// Finish ends the connection politely: nothing more is taken, what waits is written, the write half is
	// shut, and what the peer still sends is discarded for LingerTime, so that a reset doesn't eat the last answer.
	Finish()
	// Abort ends the connection at once.
	Abort()
	// Done is closed once Finish or Abort was called.
	Done() <-chan struct{}
}

// LinkEvents is told what happens to a link, from the link's own goroutines. It must not block.
type LinkEvents interface {
	// FrameBegun: the first byte of a tagged frame that was Queued is about to be written.
	FrameBegun(tag uint64)
	// WriteStalled: the peer took nothing for WriteTimeout; the link is about to be aborted. Said once, and not
	// after Finish or Abort.
	WriteStalled()
}

// LinkOptions bound a link.
type LinkOptions struct {
	// MaxQueueFrames and MaxQueueBytes bound what waits to be written; beyond them Send answers Full. One frame
	// always fits an empty queue.
	MaxQueueFrames int
	MaxQueueBytes  int
	// WriteTimeout is how long a write may stand still.
	WriteTimeout time.Duration
}

// LingerTime is how long a link that was finished reads and discards before it closes.
const LingerTime = 500 * time.Millisecond
