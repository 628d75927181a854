package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// CutFrame takes the first frame off data: its payload and what follows it, both parts of data. A frame that isn't whole
// yet is nil, and rest is data; a length that is refused, as soon as its header is there, is ErrFrameLength.
func CutFrame(data []byte, max int) (frame, rest []byte, err error) {
	if len(data) < HeaderBytes {
		return nil, data, nil
	}
	length := binary.BigEndian.Uint32(data)
	if length == 0 || int64(length) > int64(max) {
		return nil, data, fmt.Errorf("%w: %d of at most %d bytes", ErrFrameLength, length, max)
	}
	end := HeaderBytes + int(length)
	if len(data) < end {
		return nil, data, nil
	}
	return data[HeaderBytes:end:end], data[end:], nil
}

// leftover is what was read of a connection and not taken yet: a part of a frame, or what came behind a frame after which the
// taker wanted no more for now. Between frames it is nothing. It grows as bytes come, so that a length alone claims no memory.
type leftover struct {
	kept []byte
	gone int32 // how much of kept was taken since: many small frames taken one at a time don't move the rest each time
}

// with gives what is kept with what was read behind it.
func (l *leftover) with(chunk []byte) []byte {
	if len(l.kept) == 0 {
		return chunk
	}
	if len(chunk) > 0 {
		l.kept = append(l.kept[:copy(l.kept, l.kept[l.gone:])], chunk...)
		l.gone = 0
	}
	return l.kept[l.gone:]
}

// keep stores rest, the tail of what with returned; the caller may reuse chunk's buffer afterwards. What was grown for a
// large frame doesn't stay for the few bytes behind it.
func (l *leftover) keep(rest []byte) {
	gone := len(l.kept) - len(rest)
	switch {
	case len(rest) == 0:
		l.drop()
	case gone < 0 || &l.kept[gone] != &rest[0]: // it is in the reader's buffer
		*l = leftover{kept: bytes.Clone(rest)}
	case len(rest) < cap(l.kept)/2:
		*l = leftover{kept: bytes.Clone(rest)}
	default:
		l.gone = int32(gone)
	}
}

func (l *leftover) drop() { *l = leftover{} }
