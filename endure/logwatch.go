//go:build linux

package main

import (
	"bufio"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// logWatch reads what a daemon prints, through all its lives: it keeps the last lines and those that no daemon may print.
type logWatch struct {
	write *os.File // for the daemon
	ended chan struct{}

	mu        sync.Mutex
	unblocked *sync.Cond
	blocked   bool
	pause     time.Duration // after each line
	last      []string      // of all
	words     []string      // of those that aren't about what goes well
	bad       []string
}

const (
	keptLines = 30 // of each kind
	// pipeBytes is little, so that a daemon whose log isn't taken feels it at once. The system rounds it up to a page.
	pipeBytes = 4096
	maxBad    = 200
)

// forbidden is what a daemon prints when it is broken: its own words for a panic, and the Go runtime's. Not in capitals: those are in the ids
// of requests, of which one in a million and a half says PANIC.
var forbidden = regexp.MustCompile(`panic|DATA RACE|fatal error:`)

func newLogWatch() (*logWatch, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, pipeBytes); err != nil {
		return nil, err
	}
	w := watchLog(read)
	w.write = write
	return w, nil
}

// watchLog takes what is read until its end.
func watchLog(read io.ReadCloser) *logWatch {
	w := &logWatch{ended: make(chan struct{})}
	w.unblocked = sync.NewCond(&w.mu)
	go w.run(read)
	return w
}

func (w *logWatch) run(read io.ReadCloser) {
	defer close(w.ended)
	defer read.Close()
	lines := bufio.NewReaderSize(read, pipeBytes)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			w.line(line)
		}
		if err != nil {
			return
		}
	}
}

// line takes one, or waits while the log is blocked.
func (w *logWatch) line(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pause := w.pause; pause > 0 {
		w.mu.Unlock()
		time.Sleep(pause)
		w.mu.Lock()
	}
	for w.blocked {
		w.unblocked.Wait()
	}
	w.last = keep(w.last, line)
	if !strings.Contains(line, `"level":"info"`) {
		w.words = keep(w.words, line)
	}
	if forbidden.MatchString(line) && len(w.bad) < maxBad {
		w.bad = append(w.bad, line)
	}
}

func keep(lines []string, line string) []string {
	lines = append(lines, line)
	return lines[max(0, len(lines)-keptLines):]
}

// block has it take nothing, or go on.
func (w *logWatch) block(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = on
	w.unblocked.Broadcast()
}

// slow has it wait before each line from now on, as a disk that can't keep up; 0: no more.
func (w *logWatch) slow(pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pause = pause
}

// lines gives the last ones: first warnings and errors, which many requests may have followed, then all.
func (w *logWatch) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(w.words, w.last)
}

// broken gives those that no daemon may print.
func (w *logWatch) broken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bad)
}

// close returns when all was read; the daemon has ended.
func (w *logWatch) close() {
	w.block(false)
	w.slow(0)
	_ = w.write.Close()
	<-w.ended
}
