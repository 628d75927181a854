package edge

import (
	"time"

	"iop/wire/backoff"
)

// ending is how a try to be connected ended, whether or not it came to a connection.
type ending struct {
	why  string        // for the log
	held time.Duration // how long the connection was of use; 0 when there was none
	// hopeless: trying again soon would change nothing (a wrong token), or would do harm (a clone).
	hopeless bool
	// notBefore is the earliest next try that a GoAway asked for; zero when none did.
	notBefore time.Time
}

// wait gives how long to wait before the next try.
func (e ending) wait(b *backoff.Backoff, now time.Time) time.Duration {
	b.Held(e.held)
	wait := b.Next()
	if e.hopeless {
		wait = b.Max()
	}
	if e.notBefore.IsZero() {
		return wait
	}
	return max(wait, e.notBefore.Sub(now))
}
