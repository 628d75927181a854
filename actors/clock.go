package actors

import "time"

// clock tells the time twice: the wall's, for people, and a monotonic one, by which alone liveness goes.
type clock struct{ base time.Time }

func newClock() clock { return clock{base: time.Now()} }

// mono is nanoseconds since the clock was made; it never goes back.
func (c clock) mono() int64 { return c.at(time.Now()) }

// at is what mono was when now was read.
func (c clock) at(now time.Time) int64 { return int64(now.Sub(c.base)) }
