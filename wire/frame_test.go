package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func frameOf(payload string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(payload)))) + payload
}

func TestFrameReader(t *testing.T) {
	long := strings.Repeat("l", 5000)
	tests := []struct {
		name   string
		stream string
		frames []string
		err    error
	}{
		{"nothing", "", nil, io.EOF},
		{"one", frameOf("a"), []string{"a"}, io.EOF},
		{"several at once", frameOf("a") + frameOf("bc") + frameOf("d"), []string{"a", "bc", "d"}, io.EOF},
		{"as large as its own buffer", frameOf(long[:smallFrame]) + frameOf("x"), []string{long[:smallFrame], "x"}, io.EOF},
		{"header at the end of its buffer", frameOf(long[:smallFrame-8]) + frameOf("xyz"), []string{long[:smallFrame-8], "xyz"}, io.EOF},
		{"just larger than its own buffer", frameOf(long[:smallFrame+1]) + frameOf("x"), []string{long[:smallFrame+1], "x"}, io.EOF},
		{"large between small", frameOf("a") + frameOf(long) + frameOf("b"), []string{"a", long, "b"}, io.EOF},
		{"at the limit", frameOf(strings.Repeat("m", 8192)), []string{strings.Repeat("m", 8192)}, io.EOF},
		{"over the limit", frameOf("a") + frameOf(strings.Repeat("m", 8193)), []string{"a"}, ErrFrameLength},
		{"length 0", frameOf("a") + frameOf(""), []string{"a"}, ErrFrameLength},
		{"length with the top bit", "\xff\xff\xff\xff", nil, ErrFrameLength},
		{"ends in a header", frameOf("a") + "\x00\x00", []string{"a"}, io.ErrUnexpectedEOF},
		{"ends behind a header", "\x00\x00\x00\x05", nil, io.ErrUnexpectedEOF},
		{"ends in a payload", "\x00\x00\x00\x05abc", nil, io.ErrUnexpectedEOF},
		{"ends in a large payload", frameOf(long)[:3000], nil, io.ErrUnexpectedEOF},
		{"ends behind a large header", frameOf(long)[:4], nil, io.ErrUnexpectedEOF},
	}
	sources := map[string]func(io.Reader) io.Reader{
		"whole":         func(r io.Reader) io.Reader { return r },
		"byte by byte":  iotest.OneByteReader,
		"halves":        iotest.HalfReader,
		"end with data": iotest.DataErrReader,
	}
	for _, test := range tests {
		for how, source := range sources {
			t.Run(test.name+"/"+how, func(t *testing.T) {
				r := NewFrameReader(source(strings.NewReader(test.stream)), 8192)
				for _, want := range test.frames {
					got, err := r.Next()
					if err != nil || string(got) != want {
						t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(want))
					}
				}
				if got, err := r.Next(); !errors.Is(err, test.err) {
					t.Errorf("got %q, %v; want %v", got, err, test.err)
				}
			})
		}
	}
}

func TestFrameReaderSetMax(t *testing.T) {
	r := NewFrameReader(strings.NewReader(frameOf("hello")+frameOf(strings.Repeat("m", 100))), 10)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrFrameLength) {
		t.Fatalf("got %v, want ErrFrameLength", err)
	}
	r.SetMax(100)
	if p, err := r.Next(); err != nil || len(p) != 100 {
		t.Fatalf("the frame that was refused is unread: got %d bytes, %v", len(p), err)
	}
}

// stopped gives what it has and then looks at the reader that reads it.
type stopped struct {
	data  io.Reader
	atEnd func()
}

func (s *stopped) Read(p []byte) (int, error) {
	n, err := s.data.Read(p)
	if err != nil {
		s.atEnd()
	}
	return n, err
}

// TestFrameReaderClaimsNoMemory: a peer that announces a megabyte and sends little makes nothing of that size.
func TestFrameReaderClaimsNoMemory(t *testing.T) {
	announced := frameOf(strings.Repeat("m", 1<<20))
	for _, sent := range []int{HeaderBytes, HeaderBytes + smallFrame - 1, 600, 10_000, 300_000} {
		var r *FrameReader
		claimed := -1
		r = NewFrameReader(&stopped{strings.NewReader(announced[:sent]), func() {
			claimed = 0
			if r.large != nil {
				claimed = cap(*r.large)
			}
		}}, 1<<20)
		if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v", err)
		}
		if most := max(pooledBytes, 2*sent+4096); claimed > most || sent < HeaderBytes+smallFrame && claimed > 0 {
			t.Errorf("%d bytes sent, %d claimed", sent, claimed)
		}
	}
}

// TestFrameReadersShareNoBuffer has several readers hold a large frame each while others come and go.
func TestFrameReadersShareNoBuffer(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			mark := byte('a' + i)
			payload := bytes.Repeat([]byte{mark}, 3000+100*i)
			stream := strings.Repeat(frameOf(string(payload)), 200)
			r := NewFrameReader(iotest.HalfReader(strings.NewReader(stream)), 8192)
			for range 200 {
				p, err := r.Next()
				if err != nil || !bytes.Equal(p, payload) {
					t.Errorf("reader %c: %d bytes, %v, or another's bytes among them", mark, len(p), err)
					return
				}
				for k := range p {
					p[k] = mark // whoever else has it is a race
				}
			}
		})
	}
	all.Wait()
}

func TestFrameReaderAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("counted without the race detector")
	}
	for _, size := range []int{20, smallFrame, 20_000} {
		stream := &endless{frame: []byte(frameOf(strings.Repeat("m", size)))}
		r := NewFrameReader(stream, 1<<20)
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("a frame of %d bytes costs %v allocations", size, n)
		}
	}
}

// endless is one frame, again and again.
type endless struct {
	frame []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.frame[e.at:])
	e.at = (e.at + n) % len(e.frame)
	return n, nil
}

// chunks reads data in pieces whose sizes go round.
type chunks struct {
	data  []byte
	sizes []byte
	next  int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(c.sizes) > 0 {
		size += int(c.sizes[c.next%len(c.sizes)])
		c.next++
	}
	n := copy(p, c.data[:min(size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// framesIn is the model: the frames of a stream as they follow from the page that defines it.
func framesIn(stream []byte, max int) (frames [][]byte, end error) {
	for len(stream) > 0 {
		if len(stream) < HeaderBytes {
			return frames, io.ErrUnexpectedEOF
		}
		n := uint64(binary.BigEndian.Uint32(stream))
		switch stream = stream[HeaderBytes:]; {
		case n == 0 || n > uint64(max):
			return frames, ErrFrameLength
		case n > uint64(len(stream)):
			return frames, io.ErrUnexpectedEOF
		}
		frames = append(frames, stream[:n])
		stream = stream[n:]
	}
	return frames, io.EOF
}

func FuzzFrameReader(f *testing.F) {
	f.Add([]byte(frameOf("a")+frameOf("bcd")), []byte{0}, uint16(100))
	f.Add([]byte(frameOf(strings.Repeat("m", 600))+frameOf("x")), []byte{255, 3}, uint16(1000))
	f.Add([]byte(frameOf("a")+"\x00\x00\x00"), []byte{7}, uint16(10))
	f.Add([]byte("\x00\x00\x00\x00"), []byte{}, uint16(10))
	f.Add([]byte("\xff\xff\xff\xff\x00"), []byte{1, 2}, uint16(65535))
	f.Fuzz(func(t *testing.T, stream, sizes []byte, max uint16) {
		want, end := framesIn(stream, int(max))
		r := NewFrameReader(&chunks{data: stream, sizes: sizes}, int(max))
		for i, frame := range want {
			got, err := r.Next()
			if err != nil || !bytes.Equal(got, frame) {
				t.Fatalf("frame %d: got %x, %v; want %x", i, got, err, frame)
			}
		}
		if got, err := r.Next(); !errors.Is(err, end) {
			t.Fatalf("at the end: got %x, %v; want %v", got, err, end)
		}
	})
}
