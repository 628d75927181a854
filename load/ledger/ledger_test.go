package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	iopv1 "iop/proto/iop/v1"
)

// books is a ledger of three Edges whose clock a test moves.
type books struct {
	*Ledger
	at time.Time
}

func newBooks() *books {
	b := &books{Ledger: New("e-", 3), at: time.Unix(1_000_000, 0)}
	b.now = func() time.Time { return b.at }
	return b
}

func (b *books) pass(d time.Duration) time.Time {
	b.at = b.at.Add(d)
	return b.at
}

const wait = 2 * time.Second

// mine and other are two questions, which a ledger tells from each other and from a read that waits as long as all.
const mine, other = wait - 1, wait - 2

func TestTotals(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*books)
		want Totals
	}{
		{"an answer that came is fine", func(b *books) { b.Took(1, b.Answer(1, mine), mine) }, Totals{}},
		{"answers may come in any order", func(b *books) {
			first, second := b.Answer(1, mine), b.Answer(1, other)
			b.Took(1, second, other)
			b.Took(1, first, mine)
		}, Totals{}},
		{"one that nobody waited for is not lost", func(b *books) { b.Answer(1, mine) }, Totals{}},
		{"given to two callers", func(b *books) {
			stamp := b.Answer(1, mine)
			b.Took(1, stamp, mine)
			b.Took(1, stamp, other)
		}, Totals{Duplicated: 1}},
		{"another Edge's", func(b *books) { b.Took(2, b.Answer(1, mine), mine) }, Totals{Misrouted: 1}},
		{"one that no Edge gave", func(b *books) { b.Took(1, "e-00001/7", mine) }, Totals{Misrouted: 1}},
		{"no stamp", func(b *books) { b.Took(1, "", mine) }, Totals{Misrouted: 1}},
		{"a stamp of something else", func(b *books) { b.Answer(1, mine); b.Took(1, "e-00001/x", mine) }, Totals{Misrouted: 1}},
		{"the answer to an earlier question", func(b *books) {
			stamp := b.Answer(1, mine)
			b.pass(time.Second)
			b.Took(1, stamp, other)
		}, Totals{Misrouted: 1}},
		{"two that were asked for at once, swapped", func(b *books) {
			first, second := b.Answer(1, mine), b.Answer(1, other)
			b.Took(1, first, other)
			b.Took(1, second, mine)
		}, Totals{Misrouted: 2}},
		{"the one to a fleet read", func(b *books) { b.Took(1, b.Answer(1, wait), mine) }, Totals{Misrouted: 1}},

		{"given in time and not passed on", func(b *books) {
			asked := b.at
			b.Answer(1, mine)
			b.pass(wait)
			b.Missed(1, asked, mine)
		}, Totals{Lost: 1}},
		{"one answer is lost once", func(b *books) {
			asked := b.at
			b.Answer(1, mine)
			b.pass(wait)
			b.Missed(1, asked, mine)
			b.Missed(1, asked, mine)
		}, Totals{Lost: 1}},
		{"given too late", func(b *books) {
			asked := b.at
			b.pass(wait / 2)
			b.Answer(1, mine)
			b.Missed(1, asked, mine)
		}, Totals{}},
		{"never given", func(b *books) { b.Missed(1, b.at, mine) }, Totals{}},
		{"another caller got it", func(b *books) {
			asked := b.at
			b.Took(1, b.Answer(1, mine), mine)
			b.Missed(1, asked, mine)
		}, Totals{}},
		{"what was given was another's", func(b *books) {
			asked := b.at
			b.Answer(1, other)
			b.Missed(1, asked, mine)
		}, Totals{}},
		{"the link was cut behind it", func(b *books) {
			asked := b.at
			b.Answer(1, mine)
			b.pass(time.Millisecond)
			b.Cut(1)
			b.Missed(1, asked, mine)
		}, Totals{}},
		{"the link had been cut before it", func(b *books) {
			b.Cut(1)
			asked := b.pass(time.Second)
			b.Answer(1, mine)
			b.Missed(1, asked, mine)
		}, Totals{Lost: 1}},

		{"what came late isn't lost", func(b *books) {
			asked := b.at
			b.Answer(1, mine)
			b.Answer(1, other)
			b.Missed(1, asked, mine)
			b.Missed(1, asked, other)
			b.CameLate(1)
		}, Totals{Lost: 1, Late: 1}},
		{"no more can be late than were lost", func(b *books) { b.CameLate(7) }, Totals{}},

		{"a command to its end", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, true)
			b.Settled(nonce, nonce)
		}, Totals{}},
		{"a command that came twice", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Arrived(1, "op", nonce)
		}, Totals{ExecutedTwice: 1}},
		{"a command under a second id", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Arrived(1, "op-2", nonce)
		}, Totals{ExecutedTwice: 1}},
		{"a command to another Edge", func(b *books) { b.Arrived(2, "op", b.Ask(1)) }, Totals{Misrouted: 1}},
		{"somebody else's command", func(b *books) { b.Arrived(1, "op", "") }, Totals{}},
		{"another command's result", func(b *books) {
			one, other := b.Ask(1), b.Ask(1)
			b.Arrived(1, "op", one)
			b.Arrived(1, "op-2", other)
			b.Settled(one, other)
		}, Totals{Misrouted: 1}},
		{"the result of a command that never ran", func(b *books) {
			nonce := b.Ask(1)
			b.Settled(nonce, nonce)
		}, Totals{Misrouted: 1}},
		{"a first answer that wasn't passed on", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, true)
			b.Unanswered(nonce, wait)
		}, Totals{Lost: 1}},
		{"an end that wasn't passed on", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, true)
			b.pass(time.Second)
			b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, true)
			b.pass(5 * time.Second)
			b.Unsettled(nonce, 2*time.Second)
		}, Totals{Lost: 1}},
		{"an end that was said a moment ago", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, true)
			b.pass(time.Second)
			b.Unsettled(nonce, 2*time.Second)
		}, Totals{}},
		{"an end that there was no link to say on", func(b *books) {
			nonce := b.Ask(1)
			b.Arrived(1, "op", nonce)
			b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, false)
			b.pass(time.Minute)
			b.Unsettled(nonce, 2*time.Second)
		}, Totals{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBooks()
			c.do(b)
			if diff := cmp.Diff(c.want, b.Totals()); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARepeatedCommandIsAnsweredAsItStands(t *testing.T) {
	b := newBooks()
	nonce := b.Ask(1)
	if _, v := b.Arrived(1, "op", nonce); v != Fresh {
		t.Fatalf("the first time: verdict %v, want Fresh", v)
	}
	b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, true)
	before, v := b.Arrived(1, "op", nonce)
	if v != Repeated || before != iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED {
		t.Errorf("the second time: %v, %v; want Repeated and SUCCEEDED", v, before)
	}
	if _, v := b.Arrived(1, "op", "e-00001/99"); v != Foreign {
		t.Errorf("a nonce that was never given: verdict %v, want Foreign", v)
	}
}

func TestKnown(t *testing.T) {
	b := newBooks()
	nonce := b.Ask(1)
	b.Arrived(1, "op", nonce)
	b.Said(nonce, iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, true)
	if got, outcome, ok := b.Known(1, "op"); !ok || got != nonce || outcome != iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED {
		t.Errorf("Known gives %q, %v, %v", got, outcome, ok)
	}
	if _, _, ok := b.Known(2, "op"); ok {
		t.Error("another Edge knows the command")
	}
	if _, _, ok := b.Known(1, "other"); ok {
		t.Error("the Edge knows a command that never came")
	}
}

func TestRan(t *testing.T) {
	b := newBooks()
	nonce, other := b.Ask(1), b.Ask(1)
	b.Arrived(1, "op", nonce)
	for of, want := range map[string]bool{nonce: true, other: false, "e-00001/99": false, "": false} {
		if got := b.Ran(of); got != want {
			t.Errorf("Ran(%q) is %v, want %v", of, got, want)
		}
	}
}

func TestReached(t *testing.T) {
	b := newBooks()
	b.KeepCommands(time.Hour)
	ask := func(edge int, arrives bool) string {
		nonce := b.Ask(edge)
		b.pass(time.Second)
		if arrives {
			b.Arrived(edge, nonce, nonce)
		}
		b.pass(time.Second)
		return nonce
	}
	ask(1, true)
	from := b.pass(time.Second)
	b.pass(time.Second)
	first := ask(2, true)
	ask(1, false)
	b.pass(2 * time.Hour) // those so far are of the older age
	second := ask(1, true)
	b.Arrived(1, second, second) // again, and later
	until := b.at
	b.pass(time.Second)
	ask(2, true)
	if diff := cmp.Diff([]string{second, first}, b.Reached(from, until)); diff != "" {
		t.Errorf("reached their Edges (-want +got):\n%s", diff)
	}
}

func TestCommandsAreKeptForLonger(t *testing.T) {
	for keep, want := range map[time.Duration]bool{Keep: false, time.Hour: true} {
		b := newBooks()
		b.KeepCommands(keep)
		nonce := b.Ask(1)
		b.Arrived(1, "op", nonce)
		for range 10 {
			b.pass(2 * Keep)
			b.Ask(1)
		}
		if got := b.Ran(nonce); got != want {
			t.Errorf("commands are kept for %v: after %v Ran is %v, want %v", keep, 20*Keep, got, want)
		}
	}
}

func TestBooksAreBounded(t *testing.T) {
	b := newBooks()
	for range 10 * maxOpen {
		b.Answer(1, mine)
	}
	if n := len(b.edges[1].open); n > maxOpen {
		t.Errorf("%d answers are open, want at most %d", n, maxOpen)
	}
	var nonce string
	for range 1000 {
		nonce = b.Ask(1)
		b.Arrived(1, nonce, nonce)
		b.pass(time.Second)
	}
	kept := len(b.commands.young.byNonce) + len(b.commands.old.byNonce)
	if most := 2*int(Keep/time.Second) + 2; kept > most {
		t.Errorf("%d commands are kept, want at most %d", kept, most)
	}
	if _, _, ok := b.Known(1, nonce); !ok {
		t.Error("the last command is forgotten")
	}
}

func TestEvents(t *testing.T) {
	type command struct{ id, kind string }
	for _, c := range []struct {
		name     string
		said     [][2]uint64 // numbers, and since when on the same link; {} is a gap
		commands []command
		want     Totals
	}{
		{name: "in order", said: [][2]uint64{{1, 1}, {2, 1}, {3, 1}}},
		{name: "the reader began late", said: [][2]uint64{{7, 1}, {8, 1}}},
		{name: "every second one is skipped", said: [][2]uint64{{1, 1}, {3, 1}, {5, 1}}, want: Totals{Skipped: 2}},
		{name: "many are skipped at once", said: [][2]uint64{{1, 1}, {9, 1}}, want: Totals{Skipped: 7}},
		{name: "one gone with its link", said: [][2]uint64{{1, 1}, {3, 3}, {4, 3}}},
		{name: "one gone with its link, and one skipped", said: [][2]uint64{{1, 1}, {4, 3}}, want: Totals{Skipped: 1}},
		{name: "told of a gap", said: [][2]uint64{{1, 1}, {}, {5, 1}, {6, 1}}},
		{name: "skipped behind a gap", said: [][2]uint64{{1, 1}, {}, {5, 1}, {7, 1}}, want: Totals{Skipped: 1}},
		{name: "twice", said: [][2]uint64{{1, 1}, {2, 1}, {2, 1}}, want: Totals{Duplicated: 1}},
		{name: "twice in spite of a gap", said: [][2]uint64{{1, 1}, {2, 1}, {}, {2, 1}}, want: Totals{Duplicated: 1}},
		{name: "out of order", said: [][2]uint64{{1, 1}, {3, 3}, {2, 1}}, want: Totals{OutOfOrder: 1}},
		{name: "a command's in order", commands: []command{{"a", "command_sent"}, {"a", "command_accepted"}, {"b", "command_sent"},
			{"a", "command_started"}, {"a", "command_progress"}, {"a", "command_progress"}, {"a", "command_succeeded"}}},
		{name: "unknown in between says nothing", commands: []command{{"a", "command_sent"}, {"a", "command_unknown"}, {"a", "command_accepted"}}},
		{name: "a command's end twice", commands: []command{{"a", "command_succeeded"}, {"a", "command_failed"}}, want: Totals{Duplicated: 1}},
		{name: "progress after the end", commands: []command{{"a", "command_succeeded"}, {"a", "command_progress"}}, want: Totals{OutOfOrder: 1}},
		{name: "started before it was accepted", commands: []command{{"a", "command_started"}, {"a", "command_accepted"}}, want: Totals{OutOfOrder: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBooks()
			e := b.Events()
			for _, one := range c.said {
				if one == [2]uint64{} {
					e.Gap()
				} else {
					e.Saw(1, one[0], one[1])
				}
			}
			for _, one := range c.commands {
				e.SawCommand(one.id, one.kind)
			}
			if diff := cmp.Diff(c.want, b.Totals()); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverdueEvents(t *testing.T) {
	const late = EventTime + time.Millisecond
	for _, c := range []struct {
		name string
		do   func(*books, *EventBook)
		want uint64 // at the end
	}{
		{"nothing was said", func(b *books, _ *EventBook) { b.pass(late) }, 0},
		{"one that came", func(b *books, e *EventBook) { b.SaidEvent(1, 1, 1); e.Saw(1, 1, 1); b.pass(late) }, 0},
		{"none comes", func(b *books, _ *EventBook) { b.SaidEvent(1, 1, 1); b.SaidEvent(2, 1, 1); b.pass(late) }, 2},
		{"none comes any more", func(b *books, e *EventBook) {
			b.SaidEvent(1, 1, 1)
			e.Saw(1, 1, 1)
			b.SaidEvent(1, 2, 1)
			b.pass(late)
		}, 1},
		{"none of one Edge", func(b *books, e *EventBook) {
			b.SaidEvent(1, 1, 1)
			b.SaidEvent(2, 1, 1)
			e.Saw(1, 1, 1)
			b.pass(late)
		}, 1},
		{"it may be on its way", func(b *books, _ *EventBook) { b.SaidEvent(1, 1, 1); b.pass(EventTime) }, 0},
		{"due, though others are on their way", func(b *books, _ *EventBook) {
			for n := range uint64(4) {
				b.SaidEvent(1, n+1, 1)
				b.pass(EventTime / 2)
			}
		}, 1},
		{"those that are due came", func(b *books, e *EventBook) {
			for n := range uint64(4) {
				b.SaidEvent(1, n+1, 1)
				b.pass(EventTime / 2)
			}
			e.Saw(1, 1, 1)
			e.Saw(1, 2, 1)
		}, 0},
		{"gone with its link", func(b *books, _ *EventBook) { b.SaidEvent(1, 1, 1); b.Cut(1); b.pass(late) }, 0},
		{"on a new link", func(b *books, _ *EventBook) { b.SaidEvent(1, 1, 1); b.Cut(1); b.SaidEvent(1, 2, 2); b.pass(late) }, 1},
		{"of two with one id, the other one's", func(b *books, _ *EventBook) {
			b.SaidEvent(1, 1, 1)
			b.pass(late)
			b.SaidEvent(1, 2, 2)
			b.SaidEvent(1, 3, 3)
		}, 0},
		{"before a gap", func(b *books, e *EventBook) { b.SaidEvent(1, 1, 1); e.Gap(); b.pass(late) }, 0},
		{"behind a gap", func(b *books, e *EventBook) { e.Gap(); b.pass(1); b.SaidEvent(1, 1, 1); b.pass(late) }, 1},
		{"before an excuse", func(b *books, e *EventBook) { b.SaidEvent(1, 1, 1); b.pass(late); e.Excuse() }, 0},
		{"the reader has gone", func(b *books, e *EventBook) { b.SaidEvent(1, 1, 1); e.Close(); b.pass(late) }, 0},
		{"counted already", func(b *books, e *EventBook) { b.SaidEvent(1, 1, 1); b.pass(late); e.Overdue() }, 0},
		{"another one was counted", func(b *books, e *EventBook) {
			b.SaidEvent(1, 1, 1)
			b.pass(late)
			e.Overdue()
			b.pass(1)
			b.SaidEvent(1, 2, 1)
			b.pass(late)
		}, 1},
	} {
		b := newBooks()
		e := b.Events()
		e.Open()
		b.pass(time.Millisecond)
		c.do(b, e)
		if got := e.Overdue(); got != c.want {
			t.Errorf("%s: %d are overdue, want %d", c.name, got, c.want)
		}
	}
}

// What is kept of an Edge's events is as much as may be on its way.
func TestOldEventsAreForgotten(t *testing.T) {
	b := newBooks()
	for n := range uint64(1000) {
		b.SaidEvent(1, n+1, 1)
		b.pass(time.Second)
	}
	if got := len(b.edges[1].said.at); got > int(EventTime/time.Second)+2 {
		t.Errorf("%d are kept", got)
	}
}

// No two questions of the same minute are alike, and none waits longer than it was told to.
func TestQuestions(t *testing.T) {
	b := newBooks()
	seen := map[time.Duration]bool{}
	for range questions {
		q := b.Question(wait)
		if seen[q] || q >= wait || q < wait-time.Millisecond {
			t.Fatalf("question %d is %v; seen before: %v", len(seen)+1, q, seen[q])
		}
		seen[q] = true
	}
}

func TestEdgeID(t *testing.T) {
	for n, want := range map[int]string{0: "load-00000", 42: "load-00042", 99999: "load-99999", 1234567: "load-1234567"} {
		if got := EdgeID("load-", n); got != want {
			t.Errorf("EdgeID(%d) is %q, want %q", n, got, want)
		}
	}
}
