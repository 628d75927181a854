package ledger

import "time"

// EventBook is what one live reader has seen, which alone may use it.
type EventBook struct {
	l          *Ledger
	last       []uint64       // the number of each Edge's last event
	follows    []bool         // whether an Edge's next event follows on its last one: not before its first, nor behind a gap
	young, old map[string]int // how far each command was, in two ages
	turned     time.Time
}

// Events makes a book.
func (l *Ledger) Events() *EventBook {
	return &EventBook{l: l, last: make([]uint64, len(l.edges)), follows: make([]bool, len(l.edges)), young: map[string]int{}}
}

// Saw notes an event that an Edge said; each Edge's count from 1. All from since on were said on the same link, one behind the other:
// where one of them came, those before it came, too. What was said on an earlier link may have been lost with it.
func (e *EventBook) Saw(edge int, number, since uint64) {
	last, follows := e.last[edge], e.follows[edge]
	if number <= last {
		e.count(number == last)
		return
	}
	e.last[edge], e.follows[edge] = number, true
	if next := max(last+1, since); follows && next < number {
		e.skipped(number - next)
	}
}

// Gap notes that the reader was told that it misses some.
func (e *EventBook) Gap() { clear(e.follows) }

func (e *EventBook) skipped(n uint64) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	e.l.totals.Skipped += n
}

func (e *EventBook) count(twice bool) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	if twice {
		e.l.totals.Duplicated++
	} else {
		e.l.totals.OutOfOrder++
	}
}

// progressed is how far a command is at an event of this kind. What isn't here says nothing of it: that it is unknown can be
// said at any moment.
var progressed = map[string]int{
	"command_sent": 1, "command_accepted": 2, "command_started": 3, "command_progress": 4,
	"command_succeeded": 5, "command_failed": 5, "command_rejected": 5, "command_cancelled": 5, "command_expired": 5,
}

// SawCommand notes an event of a command.
func (e *EventBook) SawCommand(operationID, kind string) {
	now, ok := progressed[kind]
	if !ok {
		return
	}
	if at := e.l.now(); at.Sub(e.turned) > Keep {
		e.old, e.young, e.turned = e.young, map[string]int{}, at
	}
	before := max(e.young[operationID], e.old[operationID])
	if now <= before && kind != "command_progress" || now < before {
		e.count(now == before)
		return
	}
	e.young[operationID] = now
}
