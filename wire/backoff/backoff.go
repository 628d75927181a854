// Package backoff says how long to wait before the next try to reach a peer.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Backoff gives waits with full jitter: each lies between initial and a ceiling, which starts at twice initial and doubles with each
// failure up to max. So ten thousand peers that lost one Control Plane at one moment don't come back at one moment. It belongs to one
// goroutine.
//
// cenkalti/backoff was looked at: its jitter lies around an interval that grows, so that full jitter there means waits
// from 0 to twice max; there is no way to keep both bounds.
type Backoff struct {
	initial, max time.Duration
	failures     int
	random       func(n int64) int64 // in [0, n)
}

// New makes a Backoff that has seen no failure yet. initial is at most max.
func New(initial, max time.Duration) *Backoff {
	return &Backoff{initial: initial, max: max, random: rand.Int64N}
}

// Next gives the wait after one more failure in a row.
func (b *Backoff) Next() time.Duration {
	ceiling := b.initial
	for i := 0; i <= b.failures && ceiling < b.max; i++ {
		ceiling *= 2
	}
	b.failures++
	ceiling = min(ceiling, b.max)
	return b.initial + time.Duration(b.random(int64(ceiling-b.initial)+1))
}

// Max is the longest wait, for failures that soon would be the same.
func (b *Backoff) Max() time.Duration { return b.max }

// Held notes how long a connection lasted. If that is at least Max, earlier failures are forgotten; else they keep adding up, because a
// peer that accepts and drops at once doesn't work.
func (b *Backoff) Held(d time.Duration) {
	if d >= b.max {
		b.Reset()
	}
}

// Reset forgets the failures.
func (b *Backoff) Reset() { b.failures = 0 }
