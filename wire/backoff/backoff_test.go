package backoff

import (
	"testing"
	"time"
)

func TestBackoffIsExponentialWithFullJitter(t *testing.T) {
	const initial, most = time.Second, 30 * time.Second
	low := New(initial, most)
	low.random = func(int64) int64 { return 0 }
	high := New(initial, most)
	high.random = func(n int64) int64 { return n - 1 }
	for i, ceiling := range []time.Duration{2, 4, 8, 16, 30, 30, 30} {
		if got := low.Next(); got != initial {
			t.Errorf("failure %d waits at least %v, want %v", i, got, initial)
		}
		if got := high.Next(); got != ceiling*time.Second {
			t.Errorf("failure %d waits at most %v, want %v", i, got, ceiling*time.Second)
		}
	}
	high.Reset()
	if got := high.Next(); got != 2*time.Second {
		t.Errorf("after a reset it waits %v", got)
	}
	equal := New(most, most)
	if got := equal.Next(); got != most {
		t.Errorf("equal bounds give %v", got)
	}
	endless := New(1, 1<<62)
	for range 200 {
		if d := endless.Next(); d < 1 || d > 1<<62 {
			t.Fatalf("%v is out of bounds", d)
		}
	}
}

func TestBackoffSpreads(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[New(time.Second, 30*time.Second).Next()] = true
	}
	if len(seen) < 90 {
		t.Errorf("100 peers come back at %d moments", len(seen))
	}
}

func TestAConnectionThatHeldStartsAnew(t *testing.T) {
	b := New(time.Second, 30*time.Second)
	b.random = func(n int64) int64 { return n - 1 }
	for _, c := range []struct{ held, want time.Duration }{
		{0, 2 * time.Second}, {0, 4 * time.Second}, {b.Max() - 1, 8 * time.Second}, {b.Max(), 2 * time.Second},
	} {
		b.Held(c.held)
		if got := b.Next(); got != c.want {
			t.Errorf("held for %v, it waits %v, want %v", c.held, got, c.want)
		}
	}
}
