// Package ledger keeps the books of a load run: what was asked of which Edge, what that Edge gave, and what came out
// at the other end. Every status answer carries a stamp and every command a nonce, so that answers that were lost,
// given twice or to the wrong caller, and commands that were run twice, are counted and not guessed.
//
// A book entry lives for one to two minutes (Keep), so that a run of any length needs the same memory. No request of a run
// may take longer. A run that looks back at its commands keeps those for longer (KeepCommands).
package ledger

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// Keep is how long an entry is good for, at least.
const Keep = time.Minute

// Totals are what a correct Control Plane leaves at zero.
type Totals struct {
	// Lost: the Edge answered in time on a link that stayed up, and the caller was given no answer, now or later.
	Lost uint64 `json:"lost"`
	// Duplicated: one answer, or one event, was given twice.
	Duplicated uint64 `json:"duplicated"`
	// Misrouted: an answer of another Edge, to another question, or that no Edge gave.
	Misrouted uint64 `json:"misrouted"`
	// ExecutedTwice: a command reached its Edge more than once.
	ExecutedTwice uint64 `json:"executed_twice"`
	// OutOfOrder: an event of an Edge or of a command that came before one that was said earlier.
	OutOfOrder uint64 `json:"out_of_order"`
	// Skipped: an event that a live reader wasn't given, though it was given a later one of the same link and told of no gap.
	Skipped uint64 `json:"skipped"`

	// Late is no fault of its own: what would be lost, had the Control Plane not counted that it came after its caller's time was
	// up. It, or its machine, is too busy.
	Late uint64 `json:"late"`
}

// Add adds another's totals.
func (t *Totals) Add(o Totals) {
	t.Lost += o.Lost
	t.Duplicated += o.Duplicated
	t.Misrouted += o.Misrouted
	t.ExecutedTwice += o.ExecutedTwice
	t.OutOfOrder += o.OutOfOrder
	t.Skipped += o.Skipped
	t.Late += o.Late
}

// CameLate takes as many as that of the lost answers for late ones: the Control Plane has counted that they came.
func (l *Ledger) CameLate(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(n, l.totals.Lost)
	l.totals.Lost -= n
	l.totals.Late += n
}

// Ledger may be used from any goroutine.
type Ledger struct {
	prefix string // of every edge_id
	now    func() time.Time

	mu           sync.Mutex
	totals       Totals
	edges        []book
	commands     commandBook
	lastNonce    uint64
	lastQuestion time.Duration
}

// book is one Edge's page.
type book struct {
	given uint64   // serials given out so far; they count from 1
	open  []answer // given, and not seen by any caller yet; oldest first
	cut   time.Time
	said  sayings
}

type answer struct {
	serial   uint64
	question time.Duration
	at       time.Time
}

// maxOpen bounds what an Edge may have given without a caller seeing it; the oldest go first. Most of those were asked
// by somebody else (a fleet read, another client). A Control Plane lets 64 requests wait at an Edge.
const maxOpen = 256

// New makes a ledger for Edges 0 to n-1, whose ids are prefix and number as EdgeID writes them.
func New(prefix string, n int) *Ledger {
	return &Ledger{prefix: prefix, now: time.Now, edges: make([]book, n), commands: newCommandBook()}
}

// EdgeID names the Edge with this number.
func EdgeID(prefix string, edge int) string {
	digits := strconv.Itoa(edge)
	return prefix + "00000"[:max(0, 5-len(digits))] + digits
}

// Totals are the counts so far.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals
}

// questions is how many of them are told from each other; none is asked again within Keep at ten thousand a second.
const questions = 1_000_000

// Question gives a status read that may wait that long a wait of its own, shorter by some nanoseconds. The Control Plane passes it on
// to the Edge, which is how the Edge's answer is known to be to this question and to no other.
func (l *Ledger) Question(wait time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastQuestion = l.lastQuestion%questions + 1
	return wait - l.lastQuestion
}

// Answer gives the stamp for an answer that the Edge is about to give to a question.
func (l *Ledger) Answer(edge int, question time.Duration) (stamp string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, now := &l.edges[edge], l.now()
	b.given++
	b.forget(now)
	b.open = append(b.open, answer{b.given, question, now})
	return EdgeID(l.prefix, edge) + "/" + strconv.FormatUint(b.given, 10)
}

// forget drops what is too old or too much.
func (b *book) forget(now time.Time) {
	n := max(0, len(b.open)+1-maxOpen)
	for n < len(b.open) && now.Sub(b.open[n].at) > Keep {
		n++
	}
	b.open = b.open[n:]
}

// Cut notes that the Edge's link has ended: what it had just written may not have arrived, nor its last events.
func (l *Ledger) Cut(edge int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.edges[edge].cut, l.edges[edge].said = l.now(), sayings{}
}

// Took notes the answer that a caller was given, who had asked this Edge this question. It tells whether the answer was as it
// must be; what is wrong with it is counted.
func (l *Ledger) Took(edge int, stamp string, question time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.edges[edge]
	id, digits, _ := strings.Cut(stamp, "/")
	serial, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || id != EdgeID(l.prefix, edge) || serial == 0 || serial > b.given {
		l.totals.Misrouted++
		return false
	}
	answered, ok := b.take(serial)
	switch {
	case !ok:
		l.totals.Duplicated++
	case answered != question:
		l.totals.Misrouted++
	default:
		return true
	}
	return false
}

func (b *book) take(serial uint64) (question time.Duration, ok bool) {
	for i, a := range b.open {
		if a.serial == serial {
			b.open = append(b.open[:i], b.open[i+1:]...)
			return a.question, true
		}
	}
	return 0, false
}

// Missed notes that a caller who asked at that time was given no answer to its question. If the Edge gave one in time, and its link
// stayed up, it was lost, which is counted and told.
func (l *Ledger) Missed(edge int, asked time.Time, question time.Duration) (lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.edges[edge]
	for _, a := range b.open {
		if a.question == question && inTime(a.at, asked, question) && b.cut.Before(a.at) {
			b.take(a.serial)
			l.totals.Lost++
			return true
		}
	}
	return false
}

// inTime tells whether an answer was given early enough: in the first quarter of the wait. What is later may have come too late
// at a Control Plane whose machine is busy, and then the caller was rightly told so.
func inTime(at, asked time.Time, wait time.Duration) bool {
	return !at.Before(asked) && at.Before(asked.Add(wait/4))
}
