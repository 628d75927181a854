package edge

import "time"

// mostReconnectAfter bounds what a GoAway may ask for: a mistaken number must not strand an Edge.
const mostReconnectAfter = time.Hour

// ending is how a try to be connected ended, whether or not it came to a connection.
type ending struct {
	why  string        // for the log
	held time.Duration // how long the connection was of use; 0 when there was none
	// hopeless: trying again soon would change nothing (a wrong token), or would do harm (a clone).
	hopeless bool
	// notBefore is the earliest next try that a GoAway asked for; zero when none did.
	notBefore time.Time
}

// wait gives how long to wait after an ending before the next try.
func (b *Backoff) wait(end ending, now time.Time) time.Duration {
	if end.held >= b.max {
		b.Reset()
	}
	wait := b.Next()
	if end.hopeless {
		wait = b.max
	}
	if end.notBefore.IsZero() {
		return wait
	}
	return max(wait, end.notBefore.Sub(now))
}
