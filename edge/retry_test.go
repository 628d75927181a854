package edge

import (
	"testing"
	"time"
)

func TestBackoffIsExponentialWithFullJitter(t *testing.T) {
	const initial, most = time.Second, 30 * time.Second
	low := NewBackoff(initial, most)
	low.random = func(int64) int64 { return 0 }
	high := NewBackoff(initial, most)
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
	equal := NewBackoff(most, most)
	if got := equal.Next(); got != most {
		t.Errorf("equal bounds give %v", got)
	}
	endless := NewBackoff(1, 1<<62)
	for range 200 {
		if d := endless.Next(); d < 1 || d > 1<<62 {
			t.Fatalf("%v is out of bounds", d)
		}
	}
}

func TestBackoffSpreads(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[NewBackoff(time.Second, 30*time.Second).Next()] = true
	}
	if len(seen) < 90 {
		t.Errorf("100 Edges come back at %d moments", len(seen))
	}
}

func TestWaitAfterAnEnding(t *testing.T) {
	now := time.Now()
	const initial, most = time.Second, 30 * time.Second
	for name, c := range map[string]struct {
		failures int
		end      ending
		want     time.Duration
	}{
		"first failure":                       {0, ending{}, 2 * time.Second},
		"third failure":                       {2, ending{}, 8 * time.Second},
		"a short connection changes nothing":  {2, ending{held: most - 1}, 8 * time.Second},
		"a connection that held starts anew":  {2, ending{held: most}, 2 * time.Second},
		"hopeless":                            {0, ending{hopeless: true}, most},
		"hopeless after a long time":          {4, ending{hopeless: true, held: time.Hour}, most},
		"asked to wait less than we would":    {0, ending{notBefore: now.Add(time.Second)}, 2 * time.Second},
		"asked to wait more":                  {0, ending{notBefore: now.Add(time.Minute)}, time.Minute},
		"asked to wait, and that has passed":  {0, ending{notBefore: now.Add(-time.Minute)}, 2 * time.Second},
		"hopeless, and asked to wait longer":  {0, ending{hopeless: true, notBefore: now.Add(time.Minute)}, time.Minute},
		"hopeless, and asked to wait shorter": {0, ending{hopeless: true, notBefore: now.Add(time.Second)}, most},
	} {
		b := NewBackoff(initial, most)
		b.random = func(n int64) int64 { return n - 1 }
		b.failures = c.failures
		if got := b.wait(c.end, now); got != c.want {
			t.Errorf("%s: waits %v, want %v", name, got, c.want)
		}
	}
}
