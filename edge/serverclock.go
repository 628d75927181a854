package edge

import (
	"sync"
	"time"
)

// driftPerSecond is how much worse a kept reading of the server's clock is taken to be for each second of its age.
const driftPerSecond = time.Millisecond

// serverClock tells the Control Plane's time. Each answer that carries it is a reading: true at half the round trip,
// give or take that half. Between readings the monotonic clock carries on, so that a step of this machine's wall
// clock makes no command look expired.
type serverClock struct {
	mu     sync.Mutex
	server time.Time     // what the server's clock said
	at     time.Time     // when it said so, by ours
	off    time.Duration // at most so far off
}

// read takes a reading, unless the kept one is better: a Pong that waited in a queue knows little. But when the two can't
// both be true the newer one is taken: another Control Plane has another clock, and one may have been put right.
func (c *serverClock) read(sent, received, server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half := received.Sub(sent) / 2
	if half < 0 {
		return
	}
	is := server.Add(half)
	if !c.at.IsZero() {
		says, off := c.says(received)
		if apart := is.Sub(says).Abs(); half > off && apart <= half+off {
			return
		}
	}
	c.server, c.at, c.off = is, received, half
}

// says gives the server's time, and how far off it may be.
func (c *serverClock) says(now time.Time) (server time.Time, off time.Duration) {
	age := now.Sub(c.at)
	return c.server.Add(age), c.off + age/time.Duration(time.Second/driftPerSecond)
}

// expired tells whether a moment of the server's clock has passed for certain: what arrived in time isn't refused because the
// hello took long. Nothing is expired while its clock isn't known: this machine's own may be hours off.
func (c *serverClock) expired(moment, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return false
	}
	server, off := c.says(now)
	return server.Add(-off).After(moment)
}
