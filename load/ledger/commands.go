package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// command is what the books have of one command.
type command struct {
	nonce    string
	edge     int
	asked    time.Time
	runs     int                  // how often it reached its Edge
	arrived  time.Time            // there for the first time
	outcome  iopv1.CommandOutcome // as the Edge would answer now
	answered time.Time            // the Edge's first answer
	ended    time.Time            // the Edge said its end
}

// commandBook has two ages of entries: at each turn the older one is forgotten.
type commandBook struct {
	young, old commandAge
	turned     time.Time
	keep       time.Duration
}

type commandAge struct {
	byNonce map[string]*command
	byID    map[string]*command // those that arrived at their Edge, by command_id
}

func newCommandBook() commandBook {
	return commandBook{young: newCommandAge(), old: newCommandAge(), keep: Keep}
}

func newCommandAge() commandAge {
	return commandAge{byNonce: map[string]*command{}, byID: map[string]*command{}}
}

func (b *commandBook) turn(now time.Time) {
	if now.Sub(b.turned) > b.keep {
		b.old, b.young, b.turned = b.young, newCommandAge(), now
	}
}

func (b *commandBook) nonce(nonce string) *command {
	if c := b.young.byNonce[nonce]; c != nil {
		return c
	}
	return b.old.byNonce[nonce]
}

func (b *commandBook) id(commandID string) *command {
	if c := b.young.byID[commandID]; c != nil {
		return c
	}
	return b.old.byID[commandID]
}

// KeepCommands has the entries of commands be good for this long, at least, and not only for Keep.
func (l *Ledger) KeepCommands(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands.keep = d
}

// Ask opens an entry for a command to an Edge and gives the nonce that must travel in it.
func (l *Ledger) Ask(edge int) (nonce string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.commands.turn(now)
	l.lastNonce++
	nonce = EdgeID(l.prefix, edge) + "/" + strconv.FormatUint(l.lastNonce, 10)
	l.commands.young.byNonce[nonce] = &command{nonce: nonce, edge: edge, asked: now}
	return nonce
}

// Verdict is what an Edge is to do with a command that reached it.
type Verdict int

// Verdicts.
const (
	Fresh    Verdict = iota // run it
	Repeated                // it came before: answer as then, and run nothing
	Foreign                 // it is none of this run's, or another Edge's
)

// Arrived notes that a command reached an Edge. For a repeated one it gives what the Edge's answer is by now.
func (l *Ledger) Arrived(edge int, commandID, nonce string) (before iopv1.CommandOutcome, v Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.nonce(nonce)
	switch {
	case c == nil || c.edge != edge:
		if strings.HasPrefix(nonce, l.prefix) {
			l.totals.Misrouted++
		}
		return 0, Foreign
	case c.runs > 0:
		c.runs++
		l.totals.ExecutedTwice++
		return c.outcome, Repeated
	}
	c.runs++
	c.arrived = l.now()
	l.commands.young.byID[commandID] = c
	return 0, Fresh
}

// Said notes what the Edge has to tell of a command: its first answer, and its end. told is false while it has no link to say it
// on.
func (l *Ledger) Said(nonce string, outcome iopv1.CommandOutcome, told bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.nonce(nonce)
	if c == nil {
		return
	}
	c.outcome = outcome
	if !told {
		return
	}
	now := l.now()
	if c.answered.IsZero() {
		c.answered = now
	}
	if outcome != iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED {
		c.ended = now
	}
}

// Known is what an Edge remembers of a command_id.
func (l *Ledger) Known(edge int, commandID string) (nonce string, outcome iopv1.CommandOutcome, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.id(commandID)
	if c == nil || c.edge != edge {
		return "", 0, false
	}
	return c.nonce, c.outcome, true
}

// Ran tells whether the command that was asked with this nonce reached its Edge. Of one that is forgotten that isn't known: false.
func (l *Ledger) Ran(nonce string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.nonce(nonce)
	return c != nil && c.runs > 0
}

// Reached gives the nonces of the commands that were asked after one moment and reached their Edges before another, sorted.
func (l *Ledger) Reached(asked, arrived time.Time) (nonces []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, age := range []commandAge{l.commands.young, l.commands.old} {
		for nonce, c := range age.byNonce {
			if c.runs > 0 && c.asked.After(asked) && c.arrived.Before(arrived) {
				nonces = append(nonces, nonce)
			}
		}
	}
	slices.Sort(nonces)
	return nonces
}

// Settled notes the result that a caller was shown for the command it asked with this nonce. It tells whether it is the one
// that the Edge gave for it.
func (l *Ledger) Settled(nonce, result string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.nonce(nonce)
	if result != nonce || c == nil || c.runs == 0 {
		l.totals.Misrouted++
		return false
	}
	return true
}

// Unanswered notes that a caller who would wait that long was not told the Edge's first answer. If there was one in time, on a
// link that stayed up, it was lost.
func (l *Ledger) Unanswered(nonce string, wait time.Duration) (lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.nonce(nonce)
	return c != nil && !c.answered.IsZero() && inTime(c.answered, c.asked, wait) && l.missing(c, c.answered)
}

// Unsettled notes that an accepted command was not shown as ended. If the Edge had said its end at least that long ago, on a link
// that stayed up, it was lost.
func (l *Ledger) Unsettled(nonce string, ago time.Duration) (lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.commands.nonce(nonce)
	return c != nil && !c.ended.IsZero() && l.now().Sub(c.ended) > ago && l.missing(c, c.ended)
}

func (l *Ledger) missing(c *command, said time.Time) bool {
	if !l.edges[c.edge].cut.Before(said) {
		return false
	}
	l.totals.Lost++
	return true
}
