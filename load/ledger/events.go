package ledger

import "time"

// EventTime is how long an event may take from its Edge to a live reader. That is much longer than a machine is busy for.
const EventTime = 5 * time.Second

// sayings are the events that an Edge has said on its link, one behind the other.
type sayings struct {
	last uint64      // the newest one's number
	at   []time.Time // when it and those before it were said; of those that are due, the newest only
}

func (s *sayings) add(number, since uint64, now time.Time) {
	onOthers := max(0, len(s.at)-int(number-since))
	s.at = append(s.at[onOthers:], now)
	s.last = number
	for len(s.at) > 1 && now.Sub(s.at[1]) > EventTime {
		s.at = s.at[1:]
	}
}

// due gives the newest one that every live reader has to have seen by now, and when it was said; 0: none.
func (s *sayings) due(now time.Time) (number uint64, at time.Time) {
	for i := len(s.at) - 1; i >= 0; i-- {
		if now.Sub(s.at[i]) > EventTime {
			return s.last - uint64(len(s.at)-1-i), s.at[i]
		}
	}
	return 0, time.Time{}
}

// SaidEvent notes that an Edge is about to say an event. number and since are as in EventBook.Saw.
func (l *Ledger) SaidEvent(edge int, number, since uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edges[edge].said.add(number, since, l.now())
}

// EventBook is what one live reader has seen, which alone may use it, but for Excuse, Given and Overdue.
type EventBook struct {
	l          *Ledger
	young, old map[string]int // how far each command was, in two ages
	turned     time.Time

	// These are under the ledger's lock.
	open    bool
	from    time.Time // what was said before then need not come
	given   uint64
	last    []uint64 // the number of each Edge's last event
	follows []bool   // whether an Edge's next event follows on its last one: not before its first, nor behind a gap
}

// Events makes a book.
func (l *Ledger) Events() *EventBook {
	return &EventBook{l: l, last: make([]uint64, len(l.edges)), follows: make([]bool, len(l.edges)), young: map[string]int{}}
}

// Saw notes an event that an Edge said; each Edge's count from 1. All from since on were said on the same link, one behind the other:
// where one of them came, those before it came, too. What was said on an earlier link may have been lost with it.
func (e *EventBook) Saw(edge int, number, since uint64) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	last, follows := e.last[edge], e.follows[edge]
	if number <= last {
		e.l.totals.disorder(number == last)
		return
	}
	e.given++
	e.last[edge], e.follows[edge] = number, true
	if next := max(last+1, since); follows && next < number {
		e.l.totals.Skipped += number - next
	}
}

// Gap notes that the reader was told that it misses some.
func (e *EventBook) Gap() {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	clear(e.follows)
	e.from = e.l.now()
}

// Open says that what Edges say from now on has to come, until Close.
func (e *EventBook) Open() { e.read(true) }

// Close ends that.
func (e *EventBook) Close() { e.read(false) }

func (e *EventBook) read(open bool) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	e.open, e.from = open, e.l.now()
}

// Excuse says that what was said until now need not come.
func (e *EventBook) Excuse() {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	e.from = e.l.now()
}

// Given is how many events of Edges the reader was given.
func (e *EventBook) Given() uint64 {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	return e.given
}

// Overdue counts the Edges of which the reader should have been given an event EventTime ago, on a link that is still up. What it counts
// it excuses.
func (e *EventBook) Overdue() (edges uint64) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	if !e.open {
		return 0
	}
	now := e.l.now()
	for i := range e.l.edges {
		if number, at := e.l.edges[i].said.due(now); number > e.last[i] && at.After(e.from) {
			edges++
		}
	}
	if edges > 0 {
		e.from = now
	}
	return edges
}

// disorder counts an event that came twice, or too late.
func (t *Totals) disorder(twice bool) {
	if twice {
		t.Duplicated++
	} else {
		t.OutOfOrder++
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
		e.l.mu.Lock()
		defer e.l.mu.Unlock()
		e.l.totals.disorder(now == before)
		return
	}
	e.young[operationID] = now
}
