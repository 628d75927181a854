package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// frameHander is what a link of any kind does with a frame. Shared code is functions over this interface, not an embedded type,
// which would need a pointer back in every idle link.
type frameHander interface {
	// hand takes a whole frame, with its header, and keeps none of its bytes.
	hand(frame []byte, tag string, place place) SendResult
	traffic() *Traffic
}

// place is whether a frame has a place in a full queue.
type place bool

const (
	ifRoom place = false
	always place = true
)

// send is Send or SendControl of a link.
func send(l frameHander, e *iopv1.Envelope, tag string, place place) SendResult {
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	frame, err := AppendFrame((*b)[:0], e)
	*b = frame
	if err != nil {
		return Unsendable
	}
	return l.traffic().sent(frame, l.hand(frame, tag, place))
}

// sendFrame is SendFrame of a link.
func sendFrame(l frameHander, frame []byte) SendResult {
	return l.traffic().sent(frame, l.hand(frame, "", ifRoom))
}

// sendPong answers a Ping with what AppendPong makes of it, and allocates nothing.
func sendPong(l frameHander, replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) SendResult {
	b := buffers.Get().(*[]byte)
	defer putBuffer(b)
	*b = AppendPong((*b)[:0], replyTo, sentAt, now, interval)
	return sendFrame(l, *b)
}
