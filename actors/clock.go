package actors

import "time"

// clock tells the time twice: the wall's, for people, and a monotonic one, by which alone liveness goes.
type clock struct{ base time.Time }

func newClock() clock { return clock{base: time.Now()} }

// mono is nanoseconds since the clock was made; it never goes back.
func (c clock) mono() int64 { return int64(time.Since(c.base)) }
