package edge

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before the next try: anything between initial and a ceiling that doubles from twice
// initial up to max. Full jitter, so that ten thousand Edges that lost one Control Plane at one moment don't come back
// at one moment; a site's Node agents wait for their Edge in the same way. It belongs to one goroutine.
//
// cenkalti/backoff was looked at: its jitter lies around an interval that grows, so that full jitter there means waits
// from 0 to twice max; there is no way to keep both bounds.
type Backoff struct {
	initial, max time.Duration
	failures     int
	random       func(n int64) int64 // in [0, n)
}

// NewBackoff makes a Backoff that has seen no failure yet. initial is at most max.
func NewBackoff(initial, max time.Duration) *Backoff {
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

// Reset forgets the failures.
func (b *Backoff) Reset() { b.failures = 0 }
