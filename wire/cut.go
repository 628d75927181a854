package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// CutFrame takes the first frame off data: its payload and what is behind it, both parts of data. A frame that isn't whole
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
type leftover struct{ kept []byte }

// with gives what is kept with what was read behind it.
func (l *leftover) with(chunk []byte) []byte {
	if len(l.kept) == 0 {
		return chunk
	}
	l.kept = append(l.kept, chunk...)
	return l.kept
}

// keep keeps rest, the end of what with gave; the buffer that chunk came in is free then. What was grown for a large frame
// doesn't stay for the few bytes behind it.
func (l *leftover) keep(rest []byte) {
	switch {
	case len(rest) == 0:
		l.kept = nil
	case len(l.kept) != len(rest) || &l.kept[0] != &rest[0]:
		l.kept = bytes.Clone(rest)
	}
}
