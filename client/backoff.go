package client

import (
	"math/rand/v2"
	"time"
)

// backoff says how long to wait before the next try: anything between initial and a ceiling that doubles from twice initial
// up to max. Full jitter, so that many programs that lost one Control Plane at one moment don't come back at one moment.
type backoff struct {
	initial, max time.Duration
	failures     int
	random       func(n int64) int64 // in [0, n)
}

func newBackoff(initial, max time.Duration) *backoff {
	return &backoff{initial: initial, max: max, random: rand.Int64N}
}

// next gives the wait after one more failure in a row, at least as long as the other side has asked for.
func (b *backoff) next(asked time.Duration) time.Duration {
	ceiling := b.initial
	for i := 0; i <= b.failures && ceiling < b.max; i++ {
		ceiling *= 2
	}
	b.failures++
	ceiling = min(ceiling, b.max)
	return max(asked, b.initial+time.Duration(b.random(int64(ceiling-b.initial)+1)))
}

func (b *backoff) reset() { b.failures = 0 }
