package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// screen is a terminal that is drawn on as a whole, and put right at the end.
type screen struct {
	out     *os.File
	shown   []string
	hasKeys bool // single keys come as they are typed
	restore func()
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the other buffer, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

func openScreen(in io.Reader, out io.Writer) (*screen, error) {
	file, ok := out.(*os.File)
	if !ok {
		return nil, errors.New("top needs a terminal")
	}
	s := &screen{out: file, restore: func() {}}
	if keyboard, ok := in.(*os.File); ok && term.IsTerminal(int(keyboard.Fd())) {
		before, err := term.MakeRaw(int(keyboard.Fd()))
		if err != nil {
			return nil, err
		}
		s.hasKeys = true
		s.restore = func() { _ = term.Restore(int(keyboard.Fd()), before) }
	}
	s.restore = sync.OnceFunc(s.restoreAll(s.restore))
	_, err := io.WriteString(file, enterScreen)
	return s, err
}

func (s *screen) restoreAll(keyboard func()) func() {
	return func() {
		_, _ = io.WriteString(s.out, leaveScreen)
		keyboard()
	}
}

// close puts the terminal right. It may be called more than once.
func (s *screen) close() { s.restore() }

// size is the terminal's, as it is now.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// show writes the lines that are other ones than before, in one write.
func (s *screen) show(lines []string, whole bool) {
	var b bytes.Buffer
	if whole {
		b.WriteString("\x1b[2J")
		s.shown = nil
	}
	for i := range max(len(lines), len(s.shown)) {
		now, before := "", ""
		if i < len(lines) {
			now = lines[i]
		}
		if i < len(s.shown) {
			before = s.shown[i]
		}
		if now != before {
			fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[0m\x1b[K", i+1, now)
		}
	}
	s.shown = lines
	_, _ = s.out.Write(b.Bytes()) // a terminal that is gone sends a signal
}

// readKeys gives what is typed. Its read ends with the process: a terminal can't be asked to stop waiting.
func readKeys(ctx context.Context, in io.Reader, keys chan<- byte) error {
	var key [1]byte
	for {
		if _, err := in.Read(key[:]); err != nil {
			return nil // no keys any more; signals still end it
		}
		select {
		case keys <- key[0]:
		case <-ctx.Done():
			return nil
		}
	}
}
