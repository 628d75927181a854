// Package dial holds what an Edge, which dials a Control Plane, and a Node agent, which dials an Edge, have in common: the exchange of
// hellos, what the answer means, and when to try again after a connection or a failed try has ended.
package dial

import (
	"time"

	"iop/wire/backoff"
)

// Ending is how a try to be connected ended, whether or not it came to a connection.
type Ending struct {
	Why  string        // for the log
	Held time.Duration // how long the connection was of use; 0 when there was none
	// Hopeless: trying again soon would change nothing (a wrong token).
	Hopeless bool
	// NotBefore is the earliest next try that a GoAway asked for; zero when none did.
	NotBefore time.Time
}

// Wait gives how long to wait before the next try.
func (e Ending) Wait(b *backoff.Backoff, now time.Time) time.Duration {
	b.Held(e.Held)
	wait := b.Next()
	if e.Hopeless {
		wait = b.Max()
	}
	if e.NotBefore.IsZero() {
		return wait
	}
	return max(wait, e.NotBefore.Sub(now))
}
