package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	// HeaderBytes is the length prefix of a frame.
	HeaderBytes = 4
	// MaxHelloBytes bounds every frame before the hello is accepted; a hello at all its limits is about 50 KiB.
	MaxHelloBytes = 64 << 10
	// DefaultMaxFrameBytes is max_frame_bytes unless settings say otherwise.
	DefaultMaxFrameBytes = 1 << 20
)

// ErrFrameLength is what FrameReader gives for a length of 0 or over the limit; the frame is unread.
var ErrFrameLength = errors.New("frame length is 0 or over the limit")

// smallFrame makes a FrameReader 128 bytes, which is a size class of Go's allocator, and holds a heartbeat in one read.
const smallFrame = 80

// FrameReader reads frames from one connection. It keeps a small buffer, so that an idle connection
// costs little and a small frame one read; a larger frame borrows a buffer that the next call gives back.
type FrameReader struct {
	src        io.Reader
	max        int
	start, end int // what of small is read but not taken
	large      *[]byte
	small      [smallFrame]byte
}

// NewFrameReader reads frames of at most max bytes.
func NewFrameReader(src io.Reader, max int) *FrameReader {
	return &FrameReader{src: src, max: max}
}

// SetMax changes the limit for the frames to come: it is smaller before a hello than after it.
func (r *FrameReader) SetMax(max int) { r.max = max }

// Next gives the payload of the next frame, valid until the next call. io.EOF means an end between
// frames, io.ErrUnexpectedEOF one inside a frame, ErrFrameLength a length that is refused. After an error of the
// source, a deadline too, there is no next frame: where the stream stands is lost.
func (r *FrameReader) Next() ([]byte, error) {
	r.giveBack()
	if err := r.fill(HeaderBytes); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(r.small[r.start:])
	if length == 0 || int64(length) > int64(r.max) {
		return nil, fmt.Errorf("%w: %d of at most %d bytes", ErrFrameLength, length, r.max)
	}
	n := int(length)
	r.start += HeaderBytes
	if n > len(r.small) {
		return r.nextLarge(n)
	}
	if err := r.fill(n); err != nil {
		return nil, noEOF(err)
	}
	p := r.small[r.start : r.start+n]
	r.start += n
	return p, nil
}

// fill reads until n bytes are in small; an EOF before the first of them is io.EOF.
func (r *FrameReader) fill(n int) error {
	if r.end-r.start >= n {
		return nil
	}
	if r.start > 0 {
		r.end = copy(r.small[:], r.small[r.start:r.end])
		r.start = 0
	}
	for r.end < n { // not io.ReadAtLeast: an idle connection waits here, and its stack is counted in bytes
		m, err := r.src.Read(r.small[r.end:])
		r.end += m
		switch {
		case r.end >= n:
			return nil
		case errors.Is(err, io.EOF) && r.end > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return nil
}

// nextLarge borrows a buffer once its own is full, and grows it as the bytes come: a length alone claims no memory.
func (r *FrameReader) nextLarge(n int) ([]byte, error) {
	if err := r.fill(len(r.small)); err != nil {
		return nil, noEOF(err)
	}
	r.large = buffers.Get().(*[]byte)
	b := append((*r.large)[:0], r.small[:]...)
	r.start, r.end = 0, 0
	for len(b) < n {
		have := len(b)
		b = slices.Grow(b, min(n-have, have))
		b = b[:min(n, cap(b))]
		*r.large = b
		if _, err := io.ReadFull(r.src, b[have:]); err != nil {
			return nil, noEOF(err)
		}
	}
	return b, nil
}

func (r *FrameReader) giveBack() {
	if r.large == nil {
		return
	}
	putBuffer(r.large)
	r.large = nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// buffers lends frame buffers to readers and writers.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// pooledBytes is the largest buffer that goes back: a few rare large frames must not stay as memory.
const pooledBytes = 128 << 10

func putBuffer(b *[]byte) {
	if cap(*b) <= pooledBytes {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}
