package client

import (
	"net/http"
	"sync/atomic"
	"time"
)

// sameClock is a difference that isn't one: a Date has whole seconds, and takes time to arrive.
const sameClock = 2 * time.Second

// serverClock is how far the Control Plane's clock is from ours.
type serverClock struct{ offset atomic.Int64 }

// read takes the Date of an answer that came now.
func (c *serverClock) read(date string, now time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	offset := at.Sub(now)
	if offset.Abs() < sameClock {
		offset = 0
	}
	c.offset.Store(int64(offset))
}

func (c *serverClock) now(own time.Time) time.Time { return own.Add(time.Duration(c.offset.Load())) }
