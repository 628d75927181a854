package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestCutFrame(t *testing.T) {
	for name, c := range map[string]struct {
		data, frame, rest string
		err               error
	}{
		"nothing":                   {"", "", "", nil},
		"a part of a header":        {"\x00\x00\x00", "", "\x00\x00\x00", nil},
		"a header":                  {"\x00\x00\x00\x05", "", "\x00\x00\x00\x05", nil},
		"a part of a payload":       {"\x00\x00\x00\x05abcd", "", "\x00\x00\x00\x05abcd", nil},
		"a frame":                   {frameOf("abc"), "abc", "", nil},
		"a frame and more":          {frameOf("abc") + "\x00\x00", "abc", "\x00\x00", nil},
		"at the limit":              {frameOf(strings.Repeat("m", 100)), strings.Repeat("m", 100), "", nil},
		"length 0":                  {frameOf(""), "", frameOf(""), ErrFrameLength},
		"over the limit, unsent":    {"\x00\x00\x00\x65", "", "\x00\x00\x00\x65", ErrFrameLength},
		"a length with the top bit": {"\xff\xff\xff\xff", "", "\xff\xff\xff\xff", ErrFrameLength},
	} {
		frame, rest, err := CutFrame([]byte(c.data), 100)
		if string(frame) != c.frame || string(rest) != c.rest || !errors.Is(err, c.err) || (c.frame == "") != (frame == nil) {
			t.Errorf("%s: got %q, %q, %v", name, frame, rest, err)
		}
	}
}

// TestLeftover: nothing is kept between frames, and little behind a large one, however much was kept for that.
func TestLeftover(t *testing.T) {
	var l leftover
	large := frameOf(strings.Repeat("m", 1<<20))
	buf := make([]byte, 64<<10)
	for at := 0; at < len(large); {
		n := copy(buf, large[at:])
		at += n
		data := l.with(buf[:n])
		_, rest, _ := CutFrame(data, 1<<20)
		l.keep(rest)
		clear(buf)                                                                           // what is kept is its own
		if most := 2*at + 4096; cap(l.kept) > most || at < len(large) && len(l.kept) != at { // a length alone claims nothing
			t.Fatalf("%d bytes came, %d are kept in %d", at, len(l.kept), cap(l.kept))
		}
	}
	if l.kept != nil {
		t.Fatalf("%d bytes are kept between frames", len(l.kept))
	}
	l.keep([]byte(large[:1<<19]))
	_, rest, err := CutFrame(l.with([]byte(large[1<<19:]+"\x00\x00\x00\x09abc")), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	l.keep(rest)
	if string(l.kept) != "\x00\x00\x00\x09abc" || cap(l.kept) > 64 {
		t.Errorf("kept are %q in %d bytes", l.kept, cap(l.kept))
	}
}

// TestLeftoverOfManySmallFrames: what is taken one frame at a time isn't copied each time.
func TestLeftoverOfManySmallFrames(t *testing.T) {
	small := frameOf("small")
	buf := bytes.Repeat([]byte(small), 6000)
	copies := testing.AllocsPerRun(1, func() {
		var l leftover
		data := buf
		for range 6000 {
			frame, rest, err := CutFrame(data, 1<<20)
			if string(frame) != "small" || err != nil {
				t.Fatalf("got %q, %v", frame, err)
			}
			l.keep(rest)
			data = l.with(nil)
		}
		if l.kept != nil {
			t.Errorf("%d bytes are kept", len(l.kept))
		}
	})
	if copies > 20 { // one for each halving
		t.Errorf("copied %v times", copies)
	}
}

// TestLeftoverGoesOn: what comes behind a rest of which some was taken has its place.
func TestLeftoverGoesOn(t *testing.T) {
	var l leftover
	l.keep([]byte("abcdefgh"))
	l.keep(l.with(nil)[3:])
	l.keep(l.with([]byte("ij"))[1:])
	if got := string(l.with([]byte("k"))); got != "efghijk" {
		t.Errorf("got %q", got)
	}
}
