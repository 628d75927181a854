package program

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// LogWriter hands log lines to a goroutine that writes them, so that a log that nobody takes (a pipe that isn't read, a disk that
// stands) holds up nobody who logs. What comes while its buffer is full, or can't be written, is lost and counted; a line in the same
// place of the log says how many, once it goes on.
//
// zerolog/diode was tried for it: it can miss a wake-up and keep the last lines to itself, its Close waits for a disk that
// stands, and closes stderr.
type LogWriter struct {
	out   io.Writer
	lines chan []byte
	ended chan struct{} // the goroutine has written everything

	mu       sync.Mutex
	closed   bool
	waiting  int // bytes in lines
	lost     int // lines, since it was last told
	lostEver uint64
}

const (
	// What may wait: some seconds of a busy daemon's log. A longer stop of the disk loses lines.
	maxLogLines = 4096
	maxLogBytes = 4 << 20
	// logCloseTime is how long an end waits for a log that isn't taken.
	logCloseTime = 2 * time.Second
)

// newLogWriter starts one. out gets one line of JSON at a time.
func newLogWriter(out io.Writer) *LogWriter {
	w := &LogWriter{out: out, lines: make(chan []byte, maxLogLines), ended: make(chan struct{})}
	go w.run()
	return w
}

func (w *LogWriter) run() {
	defer close(w.ended)
	for line := range w.lines {
		_, err := w.out.Write(line)
		w.mu.Lock()
		w.waiting -= len(line)
		if err != nil {
			w.lose()
		}
		w.mu.Unlock()
	}
}

// Write takes a line, or loses it. It never waits.
func (w *LogWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && w.tellLost() && w.push(bytes.Clone(line)) {
		return len(line), nil
	}
	w.lose()
	return len(line), nil
}

func (w *LogWriter) lose() {
	w.lost++
	w.lostEver++
}

// Lost is how many lines were lost since the start.
func (w *LogWriter) Lost() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lostEver
}

// tellLost puts how many lines are missing where they are; false when there is no room for it.
func (w *LogWriter) tellLost() bool {
	if w.lost == 0 {
		return true
	}
	notice, err := json.Marshal(map[string]any{"level": "warn", "time": time.Now().Format(time.RFC3339Nano),
		"lost_lines": w.lost, "message": "log lines were lost: the log wasn't taken in time"})
	if err != nil || !w.push(append(notice, '\n')) {
		return false
	}
	w.lost = 0
	return true
}

func (w *LogWriter) push(line []byte) bool {
	if w.waiting+len(line) > maxLogBytes {
		return false
	}
	select {
	case w.lines <- line:
		w.waiting += len(line)
		return true
	default:
		return false
	}
}

// Close writes what waits, unless it isn't taken for two seconds. What is logged afterwards is lost.
func (w *LogWriter) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	w.tellLost()
	close(w.lines)
	w.mu.Unlock()
	select {
	case <-w.ended:
	case <-time.After(logCloseTime):
	}
	w.mu.Lock()
}

// lastWords is for what a process says right before it ends: a stderr that nobody takes holds up no end for more than two seconds.
type lastWords struct{ out io.Writer }

func (l lastWords) Write(p []byte) (int, error) {
	words, written := bytes.Clone(p), make(chan struct{}) // p is the caller's again when this returns
	go func() {
		defer close(written)
		_, _ = l.out.Write(words) // there is nowhere to say that it failed
	}()
	select {
	case <-written:
	case <-time.After(logCloseTime):
	}
	return len(p), nil
}
