//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
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
	w, err := newLogWatch()
	if err != nil {
		t.Fatal(err)
	}
	w.block(true)
	written := make(chan int, 1)
	go func() {
		n, _ := fmt.Fprint(w.write, strings.Repeat("a line of a log that nobody takes\n", 100*pipeBytes/10))
		written <- n
	}()
	select {
	case n := <-written:
		t.Errorf("%d bytes were taken", n)
	case <-time.After(100 * time.Millisecond): // for what must not happen there is nothing else to wait for
	}
	w.block(false)
	<-written
	w.close()
}
