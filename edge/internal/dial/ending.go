// Package dial holds what an Edge, which dials a Control Plane, and a Node agent, which dials an Edge, have in common: the exchange of
// hellos, what the answer means, the wait before the next try, and the note that there is something new to tell.
package dial

import (
	"context"
	"log/slog"
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

// Pause logs why there is no connection and waits before the next try, at most until ctx ends.
func (e Ending) Pause(ctx context.Context, b *backoff.Backoff, log *slog.Logger) {
	wait := e.Wait(b, time.Now())
	log.Warn("Not connected.", "why", e.Why, "next_try_in", wait.Round(time.Millisecond).String(), "was_connected_for", e.Held.Round(time.Millisecond).String())
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
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
