package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// heldTaker keeps what comes, and holds after each frame that its pattern says.
type heldTaker struct {
	linkLog
	max    int
	holds  []byte
	frames [][]byte
	err    error
}

func (h *heldTaker) MaxFrame() int { return h.max }
func (h *heldTaker) LinkClosed()   {}

func (h *heldTaker) TakeFrame(frame []byte, err error) Next {
	if err != nil {
		h.err = err
		return Halt
	}
	h.frames = append(h.frames, bytes.Clone(frame))
	if n := len(h.holds); n > 0 && h.holds[len(h.frames)%n]&1 == 1 {
		return Hold
	}
	return ReadOn
}

// FuzzPolledFrames: however a stream comes in pieces, and wherever its taker holds it, its frames are those that
// FrameReader reads.
func FuzzPolledFrames(f *testing.F) {
	f.Add([]byte(frameOf("a")+frameOf("bcd")), []byte{0}, []byte{0}, uint16(100))
	f.Add([]byte(frameOf(strings.Repeat("m", 600))+frameOf("x")+frameOf("y")), []byte{255, 3}, []byte{1}, uint16(1000))
	f.Add([]byte(frameOf("a")+frameOf("b")+"\x00\x00\x00"), []byte{7}, []byte{1, 0}, uint16(10))
	f.Add([]byte("\x00\x00\x00\x00"), []byte{}, []byte{}, uint16(10))
	f.Add([]byte(frameOf("abc")+"\xff\xff\xff\xff\x00"), []byte{1, 2}, []byte{1}, uint16(65535))
	f.Fuzz(func(t *testing.T, stream, sizes, holds []byte, max uint16) {
		taker := &heldTaker{max: int(max), holds: holds}
		l := &PolledLink{taker: taker}
		resume := func() {
			for !l.halted && l.holds.Load() > 0 {
				l.holds.Store(0)
				l.take(nil)
			}
		}
		pieces := &chunks{data: stream, sizes: sizes}
		buf := make([]byte, 256)
		for !l.halted {
			n, err := pieces.Read(buf)
			if err != nil {
				break
			}
			l.take(buf[:n])
			clear(buf)
			resume() // a held link isn't read
		}
		r := NewFrameReader(bytes.NewReader(stream), int(max))
		for i, got := range taker.frames {
			if want, err := r.Next(); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("frame %d: got %x, want %x, %v", i, got, want, err)
			}
		}
		_, end := r.Next()
		if errors.Is(end, ErrFrameLength) != (taker.err != nil) || !errors.Is(end, ErrFrameLength) && !errors.Is(end, io.EOF) && !errors.Is(end, io.ErrUnexpectedEOF) {
			t.Fatalf("the end is %v, want %v", taker.err, end)
		}
		if errors.Is(end, io.EOF) && l.leftover.kept != nil {
			t.Fatalf("kept between frames: %x", l.leftover.kept)
		}
	})
}
