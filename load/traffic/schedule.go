package traffic

import (
	"context"
	"math"
	"time"
)

// Schedule says when requests are due, whatever becomes of the earlier ones: load by schedule can't be slowed by a slow
// server, and a time counted from the moment a request was due leaves no waiting out.
type Schedule struct {
	Rate     float64       // a second
	Ramp     time.Duration // the rate grows evenly from 0 to Rate in this time
	Duration time.Duration // nothing is due after it
}

// Due gives when request n is due, counted from 0; false when it never is.
func (s Schedule) Due(n int) (time.Duration, bool) {
	if s.Rate <= 0 {
		return 0, false
	}
	ramp := s.Ramp.Seconds()
	within := s.Rate * ramp / 2 // how many are due before the rate is whole
	var t float64
	if float64(n) < within {
		t = math.Sqrt(2 * float64(n) * ramp / s.Rate)
	} else {
		t = ramp + (float64(n)-within)/s.Rate
	}
	d := time.Duration(t * float64(time.Second))
	return d, d < s.Duration
}

// run calls do for each request at its time, counted from began; do must not wait. It ends with the schedule or with ctx.
func (s Schedule) run(ctx context.Context, began time.Time, do func(due time.Time)) {
	wake := time.NewTimer(0)
	defer wake.Stop()
	for n := 0; ; n++ {
		at, ok := s.Due(n)
		if !ok {
			return
		}
		due := began.Add(at)
		if wait := time.Until(due); wait > 0 {
			wake.Reset(wait)
			select {
			case <-wake.C:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		do(due)
	}
}
