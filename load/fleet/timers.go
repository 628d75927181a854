package fleet

import "time"

// timers is a heap of what a shard has to do later, the soonest first. One heap a shard instead of a Go timer each:
// ten thousand idle Edges have three entries each, and nothing wakes for those that are gone.
type timers []timer

type timer struct {
	at   time.Duration // since the fleet began
	e    *edge
	life uint32 // the life of the Edge that it belongs to; 0 belongs to all
	kind timerKind
	do   func() // of the kind doThis
}

type timerKind uint8

const (
	dialNow      timerKind = iota // the wait before a try is over
	helloOverdue                  // no answer to the hello
	heartbeatDue
	changeDue // the living model takes a step
	doThis
)

// stale tells whether it belongs to a connection that is gone.
func (t timer) stale() bool { return t.life != 0 && t.life != t.e.life }

func (t *timers) push(one timer) {
	h := append(*t, one)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].at <= h[i].at {
			break
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
	*t = h
}

// due takes the soonest if its time has come.
func (t *timers) due(now time.Duration) (timer, bool) {
	h := *t
	if len(h) == 0 || h[0].at > now {
		return timer{}, false
	}
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], timer{}
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h[child+1].at < h[child].at {
			child++
		}
		if h[i].at <= h[child].at {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	*t = h
	return first, true
}

// next is how long until the soonest.
func (t timers) next(now time.Duration) time.Duration {
	if len(t) == 0 {
		return time.Hour
	}
	return max(0, t[0].at-now)
}
