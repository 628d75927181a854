package actors

import (
	"sync/atomic"
	"time"
)

// punctuality is how late an actor is for what it has set itself to do: the wait in its mailbox, and the machine's own
// lateness. It is due for the first time when the clock starts. One that hangs is later with every look.
type punctuality struct{ dueAt, wasLate atomic.Int64 } // monotonic; nanoseconds

// due: the actor's next message to itself is for that moment.
func (p *punctuality) due(at int64) { p.dueAt.Store(at) }

// handled: it has come to it.
func (p *punctuality) handled(now int64) { p.wasLate.Store(now - p.dueAt.Load()) }

// lag is the lateness of the last time, or of this time where that is more already.
func (p *punctuality) lag(now int64) time.Duration {
	return time.Duration(max(0, p.wasLate.Load(), now-p.dueAt.Load()))
}
