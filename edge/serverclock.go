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

// read takes a reading, unless the kept one is better: a Pong that waited in a queue knows little.
func (c *serverClock) read(sent, received, server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half := received.Sub(sent) / 2
	if half < 0 || !c.at.IsZero() && half > c.off+received.Sub(c.at)/time.Duration(time.Second/driftPerSecond) {
		return
	}
	c.server, c.at, c.off = server.Add(half), received, half
}

// expired tells whether a moment of the server's clock has passed. Nothing is expired while its clock isn't known: this
// machine's own may be hours off.
func (c *serverClock) expired(moment, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return false
	}
	return c.server.Add(now.Sub(c.at)).After(moment)
}
