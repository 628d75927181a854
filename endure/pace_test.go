//go:build linux

package main

import (
	"testing"
	"time"
)

func TestPaceForgets(t *testing.T) {
	p := &pace{}
	p.add(time.Second)
	for range paceKept - 1 {
		p.add(time.Millisecond)
	}
	if got := p.worst(); got != time.Second {
		t.Errorf("the worst of the last ten seconds is %v, want 1s", got)
	}
	p.add(2 * time.Millisecond)
	if got := p.worst(); got != 2*time.Millisecond {
		t.Errorf("ten seconds later it is %v, want 2ms", got)
	}
	for i, want := range []time.Duration{time.Second, 0} {
		if got := p.since(); got != want {
			t.Errorf("asked for the time No. %d, the longest since then is %v, want %v", i+1, got, want)
		}
	}
}
