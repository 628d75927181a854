package ledger

import "time"

// EventBook is what one live reader has seen, which alone may use it. An event that was skipped is not wrong in itself:
// a reader may begin late, or be told of a gap.
type EventBook struct {
	l          *Ledger
	last       []uint64       // the number of each Edge's last event
	young, old map[string]int // how far each command was, in two ages
	turned     time.Time
}

// Events makes a book.
func (l *Ledger) Events() *EventBook {
	return &EventBook{l: l, last: make([]uint64, len(l.edges)), young: map[string]int{}}
}

// Saw notes an event that an Edge said; each Edge's count from 1.
func (e *EventBook) Saw(edge int, number uint64) {
	last := e.last[edge]
	if number > last {
		e.last[edge] = number
		return
	}
	e.count(number == last)
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
