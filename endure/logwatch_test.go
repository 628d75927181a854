//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogWatch(t *testing.T) {
	w, err := newLogWatch()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		fmt.Fprintf(w.write, "line %d\n", i)
	}
	fmt.Fprintln(w.write, `{"level":"info","request_id":"XQM35B34QSZCSPANICO5TQD7PE","message":"command"}`)
	fmt.Fprintln(w.write, `{"level":"error","message":"an actor panicked"}`)
	fmt.Fprintln(w.write, "WARNING: DATA RACE")
	fmt.Fprint(w.write, "fatal error: concurrent map writes") // no end of line
	w.close()
	last := w.lines()
	if len(last) != 2*keptLines || last[len(last)-1] != "fatal error: concurrent map writes" {
		t.Errorf("%d lines are kept, the last one %q", len(last), last[len(last)-1])
	}
	if bad := w.broken(); len(bad) != 3 {
		t.Errorf("broken: %q", bad)
	}
}

func TestABlockedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "a line of a log that nobody takes\n"
		read, write := io.Pipe()
		w := watchLog(read)
		w.block(true)
		done := false
		go func() {
			_, _ = io.WriteString(write, strings.Repeat(text, 2*pipeBytes/len(text)))
			_ = write.Close()
			done = true
		}()
		synctest.Wait()
		if got := w.lines(); done || len(got) > 0 {
			t.Errorf("a blocked log was taken: all of it %v, lines %q", done, got)
		}
		w.block(false)
		<-w.ended
		if got := w.lines(); len(got) == 0 || got[0] != text {
			t.Errorf("when it goes on the lines are %q", got)
		}
	})
}

func TestASlowLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pause, lines = time.Second, 5
		read, write := io.Pipe()
		w := watchLog(read)
		w.slow(pause)
		began := time.Now()
		for i := range lines {
			fmt.Fprintf(write, "line %d\n", i)
		}
		_ = write.Close()
		<-w.ended
		if took := time.Since(began); took != lines*pause || len(w.lines()) == 0 {
			t.Errorf("%d lines were taken in %v, want %v: %q", lines, took, lines*pause, w.lines())
		}
	})
}
