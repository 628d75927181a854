package wire

import (
	"encoding/binary"
	"errors"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// ErrUndecodable is a frame that is no Envelope, nests too deep, or would unfold beyond the limit.
var ErrUndecodable = errors.New("not a decodable envelope")

// maxDepth bounds nesting: JSON of 64 levels takes three messages a level as a Struct.
const maxDepth = 256

// Decode reads one Envelope. Fields that this version doesn't know are dropped, so that nothing is
// kept for them; a body that it doesn't know leaves Body nil.
func Decode(frame []byte) (*iopv1.Envelope, error) {
	if unfoldsTooFar(frame, envelopeShape) {
		return nil, ErrUndecodable
	}
	return unmarshal(frame, &iopv1.Envelope{})
}

// DecodeNode reads one NodeEnvelope, as Decode does an Envelope.
func DecodeNode(frame []byte) (*iopv1.NodeEnvelope, error) {
	if unfoldsTooFar(frame, nodeEnvelopeShape) {
		return nil, ErrUndecodable
	}
	return unmarshal(frame, &iopv1.NodeEnvelope{})
}

func unmarshal[M proto.Message](frame []byte, into M) (M, error) {
	o := proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}
	if err := o.Unmarshal(frame, into); err != nil {
		var none M
		return none, ErrUndecodable
	}
	return into, nil
}

// Body finds the encoding of one body in a frame that was decoded: a part of frame, or nil when that field isn't there
// exactly once (then the message is a merge of several, and has no encoding of its own).
func Body(frame []byte, field protowire.Number) []byte {
	var body []byte
	times := 0
	for len(frame) > 0 {
		num, typ, n := protowire.ConsumeTag(frame)
		if n < 0 {
			return nil
		}
		frame = frame[n:]
		if n = protowire.ConsumeFieldValue(num, typ, frame); n < 0 {
			return nil
		}
		if num == field && typ == protowire.BytesType {
			body, _ = protowire.ConsumeBytes(frame)
			times++
		}
		frame = frame[n:]
	}
	if times != 1 {
		return nil
	}
	return body
}

// AppendFrame appends header and payload of one envelope, an Envelope or a NodeEnvelope.
func AppendFrame(b []byte, e proto.Message) ([]byte, error) {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	whole, err := proto.MarshalOptions{}.MarshalAppend(b, e)
	if err != nil {
		return b[:at], err
	}
	binary.BigEndian.PutUint32(whole[at:], uint32(len(whole)-at-HeaderBytes))
	return whole, nil
}

// Fits tells whether an envelope can be sent to a peer with this max_frame_bytes. A frame that is too long, or that the
// peer's Decode refuses, ends the connection: whoever sends what others gave it (parameters, results) asks first.
func Fits(e *iopv1.Envelope, maxFrameBytes int) bool {
	if proto.Size(e) > maxFrameBytes {
		return false
	}
	frame, err := AppendFrame(nil, e)
	if err != nil {
		return false
	}
	_, err = Decode(frame[HeaderBytes:])
	return err == nil
}

// StatusField is the number of edge_status_response in Envelope.
const StatusField protowire.Number = 13

// Field numbers of Envelope and Pong, for the one message written by hand.
const (
	envelopeReplyTo = 2
	envelopePong    = 5
	pongSentAt      = 1
	pongServerTime  = 2
	pongInterval    = 3
)

// AppendPong appends the frame that answers a Ping. Written by hand because a fleet's heartbeats are most
// of what a quiet control plane does, and this way they cost no allocation; a test holds it to the
// generated code. An interval of 0 leaves the field out.
func AppendPong(b []byte, replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	if replyTo != 0 {
		b = protowire.AppendTag(b, envelopeReplyTo, protowire.VarintType)
		b = protowire.AppendVarint(b, replyTo)
	}
	// A Pong is three messages of at most 22 bytes, whatever a peer's clock says: lengths that fit one byte,
	// filled in at the end.
	b = protowire.AppendTag(b, envelopePong, protowire.BytesType)
	b = append(b, 0)
	body := len(b)
	if sentAt != nil {
		b = appendSecondsNanos(b, pongSentAt, sentAt.Seconds, sentAt.Nanos)
	}
	b = appendSecondsNanos(b, pongServerTime, now.Unix(), int32(now.Nanosecond()))
	if interval != 0 {
		b = appendSecondsNanos(b, pongInterval, int64(interval/time.Second), int32(interval%time.Second))
	}
	b[body-1] = byte(len(b) - body)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-HeaderBytes))
	return b
}

// appendSecondsNanos appends a Timestamp or a Duration: both are seconds = 1, nanos = 2.
func appendSecondsNanos(b []byte, field protowire.Number, seconds int64, nanos int32) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = append(b, 0)
	body := len(b)
	if seconds != 0 {
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(seconds))
	}
	if nanos != 0 {
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(int64(nanos)))
	}
	b[body-1] = byte(len(b) - body)
	return b
}
