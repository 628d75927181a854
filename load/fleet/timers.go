package fleet

import (
	"container/heap"
	"time"
)

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

func (t *timers) push(one timer) { heap.Push((*timerHeap)(t), one) }

// due takes the soonest if its time has come.
func (t *timers) due(now time.Duration) (timer, bool) {
	if len(*t) == 0 || (*t)[0].at > now {
		return timer{}, false
	}
	return heap.Pop((*timerHeap)(t)).(timer), true
}

// next is how long until the soonest.
func (t timers) next(now time.Duration) time.Duration {
	if len(t) == 0 {
		return time.Hour
	}
	return max(0, t[0].at-now)
}

// timerHeap is what container/heap wants of timers.
type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(one any)      { *h = append(*h, one.(timer)) }

func (h *timerHeap) Pop() any {
	old := *h
	last := len(old) - 1
	one := old[last]
	old[last] = timer{} // holds on to no Edge
	*h = old[:last]
	return one
}
