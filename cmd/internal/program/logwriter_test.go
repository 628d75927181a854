package program

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gate is a log that stands until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.got.Write(p)
}

func TestLogWriterWritesInOrder(t *testing.T) {
	var out bytes.Buffer
	w := newLogWriter(&out)
	want := ""
	for i := range 100 {
		fmt.Fprintf(w, "line %d\n", i)
		want += fmt.Sprintf("line %d\n", i)
	}
	w.Close()
	if out.String() != want {
		t.Errorf("it wrote %q", out.String())
	}
	w.Close()
	fmt.Fprintln(w, "too late") // must not panic
}

// A line's buffer is its logger's again when Write has returned.
func TestLogWriterKeepsACopy(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	w := newLogWriter(g)
	line := []byte("mine\n")
	_, _ = w.Write(line)
	copy(line, "XXXX")
	close(g.open)
	w.Close()
	if g.got.String() != "mine\n" {
		t.Errorf("it wrote %q", g.got.String())
	}
}

func TestALogThatStandsHoldsNobodyUp(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		kept int // at most
	}{
		"many lines": {"short\n", maxLogLines + 1}, // one is being written
		"long lines": {strings.Repeat("x", maxLogBytes/4-1) + "\n", 4 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{open: make(chan struct{})}
				w := newLogWriter(g)
				sent := c.kept + 10
				for i := range sent {
					_, _ = io.WriteString(w, c.line) // waits for ever if it waits at all
					if i == 0 {
						synctest.Wait() // it is being written: no place is free later, for a line amid those that are lost
					}
				}
				close(g.open)
				synctest.Wait()
				lost := w.Lost()
				_, _ = io.WriteString(w, "after\n")
				w.Close()
				text := g.got.String()
				kept := strings.Count(text, c.line)
				if kept < c.kept-2 || kept > c.kept {
					t.Errorf("%d lines were kept, want some %d", kept, c.kept)
				}
				if lost != uint64(sent-kept) || w.Lost() != lost {
					t.Errorf("%d lines are said to be lost, and %d at the end; want %d", lost, w.Lost(), sent-kept)
				}
				notice := fmt.Sprintf(`"lost_lines":%d,`, sent-kept)
				if at := strings.Index(text, notice); at < 0 || at < strings.LastIndex(text, c.line) || !strings.HasSuffix(text, "\nafter\n") {
					t.Errorf("between what was kept and what came after, no line says %s: ...%s", notice, text[max(0, len(text)-300):])
				}
			})
		})
	}
}

func TestAnEndDoesNotWaitForALogThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		w := newLogWriter(g)
		fmt.Fprintln(w, "never taken")
		began := time.Now()
		w.Close()
		if took := time.Since(began); took != logCloseTime {
			t.Errorf("it took %v, want %v", took, logCloseTime)
		}
		close(g.open)
	})
}

func TestLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		fmt.Fprintln(lastWords{g}, "nobody takes it") // waits for ever if it waits for more than two seconds
		close(g.open)
		synctest.Wait()
		fmt.Fprintln(lastWords{g}, "goodbye")
		if !strings.HasSuffix(g.got.String(), "goodbye\n") {
			t.Errorf("it said %q", g.got.String())
		}
	})
}
