package actors

import (
	"sync/atomic"
	"time"
)

// durations counts how long things took, in buckets. One goroutine observes, any may read.
type durations struct {
	counts [len(durationBounds) + 1]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

// durationBounds are the buckets' upper bounds in seconds: from an answer at once to a model that takes an hour to load.
var durationBounds = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}

// Durations are counts at one moment.
type Durations struct {
	Count   uint64
	Seconds float64            // all of them together
	Buckets map[float64]uint64 // how many took at most so many seconds
}

func (d *durations) observe(took time.Duration) {
	took = max(0, took) // the wall's clock may have been set back
	i := 0
	for i < len(durationBounds) && took.Seconds() > durationBounds[i] {
		i++
	}
	d.counts[i].Add(1)
	d.sum.Add(int64(took))
}

func (d *durations) read() Durations {
	r := Durations{Seconds: time.Duration(d.sum.Load()).Seconds(), Buckets: make(map[float64]uint64, len(durationBounds))}
	for i, bound := range durationBounds {
		r.Count += d.counts[i].Load()
		r.Buckets[bound] = r.Count
	}
	r.Count += d.counts[len(durationBounds)].Load()
	return r
}
