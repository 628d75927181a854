package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func frames(m Metrics, direction, body string) (n int64) {
	m.EdgeWire.Each(func(d, b string, frames, _ int64) {
		if d == direction && b == body {
			n = frames
		}
	})
	return n
}

// What a command does to the numbers, from asked to ended.
func TestCommandsAreCounted(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		unanswered := func(what string, pending, sent int) {
			t.Helper()
			wantEqual(t, what, s.Metrics().OperationsUnanswered, map[OperationState]int{Pending: pending, Sent: sent})
		}
		f := connect(t, s, "e1")
		unanswered("before", 0, 0)
		answer := askCommand(s, commandFor("e1"))
		m, c := f.commandRequest()
		synctest.Wait()
		unanswered("sent", 0, 1)
		time.Sleep(2 * time.Second)
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeAccepted))
		wantReply(t, answerOf(t, answer), "", Accepted)
		unanswered("accepted", 0, 0)
		wantEqual(t, "ended so far", s.Metrics().OperationDurations[Succeeded].Count, 0)
		time.Sleep(time.Second)
		f.send(phaseOf(c.CommandId, phaseSucceeded))
		synctest.Wait()
		d := s.Metrics().OperationDurations[Succeeded]
		wantEqual(t, "duration", []any{d.Count, d.Seconds, d.Buckets[2.5], d.Buckets[5]}, []any{1, 3, 0, 1})

		wantReply(t, answerOf(t, askCommand(s, commandFor("nobody"))), "edge_not_found", "")
		unanswered("refused", 0, 0)
		wantEqual(t, "refusals", s.Metrics().CommandRefusals["edge_not_found"], 1)
		wantEqual(t, "frames", []any{frames(s.Metrics(), "out", "edge_command_request"), frames(s.Metrics(), "in", "edge_command_event"),
			frames(s.Metrics(), "in", "edge_hello_request"), frames(s.Metrics(), "out", "edge_hello_response")}, []any{1, 1, 1, 1})
	})
}

// A command that waits for its connection's queue is pending until it is taken back, and is then counted as expired.
func TestAQueuedCommandIsCounted(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := dialMute(t, s)
		go f.send(helloEnvelope(hello("e1"))) // its answer, unread, holds up all that comes after
		time.Sleep(time.Second)
		ask := commandFor("e1")
		ask.Timeout = 5 * time.Second
		answer := askCommand(s, ask)
		wantEqual(t, "waiting", s.Metrics().OperationsUnanswered[Pending], 1)
		queued, bytes := s.Metrics().EdgeWire.Waiting()
		wantEqual(t, "in the link", []any{queued, bytes > 0}, []any{1, true})
		wantReply(t, answerOf(t, answer), "edge_timeout", Expired)
		wantEqual(t, "afterwards", s.Metrics().OperationsUnanswered[Pending], 0)
		wantEqual(t, "expired", s.Metrics().OperationDurations[Expired].Count, 1)
		queued, bytes = s.Metrics().EdgeWire.Waiting()
		wantEqual(t, "in the link afterwards", []any{queued, bytes}, []any{0, 0})
		f.conn.Close()
	})
}

func TestLiveReadersAreCounted(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		one, other := subscribe(t, s, ""), subscribe(t, s, "")
		tell(s, 0, 3)
		<-one.Events
		wantEqual(t, "readers and the slowest's backlog", []any{s.Metrics().Subscribers, s.Metrics().LongestBacklog}, []any{2, 3})
		other.Cancel()
		synctest.Wait()
		wantEqual(t, "after one went", []any{s.Metrics().Subscribers, s.Metrics().LongestBacklog}, []any{1, 2})
		tell(s, 3, SubscriberBuffer+3)
		wantEqual(t, "after the other was cut off", []any{s.Metrics().Subscribers, s.Metrics().EventsDropped}, []any{0, 1})
	})
}

func TestPunctuality(t *testing.T) {
	var p punctuality
	for _, step := range []struct {
		what string
		do   func()
		now  int64
		want time.Duration
	}{
		{"one that never began", func() {}, 7, 7},
		{"waiting for its time", func() { p.due(20) }, 10, 0},
		{"its time has come", func() {}, 23, 3},
		{"it hangs", func() {}, 90, 70},
		{"it came to it", func() { p.handled(91) }, 91, 71},
		{"that is kept until the next time", func() { p.due(111) }, 100, 71},
		{"which was better", func() { p.handled(112); p.due(132) }, 113, 1},
		{"and which is worse again", func() {}, 140, 8},
	} {
		step.do()
		wantEqual(t, step.what, p.lag(step.now), step.want)
	}
}

// The registry measures its own lateness; while it hangs the lag grows with each look.
func TestRegistryLag(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		time.Sleep(time.Minute)
		synctest.Wait()
		wantEqual(t, "at rest", s.Metrics().RegistryLag, time.Duration(0))
		hang := make(chan int) // the registry waits for this asker, as nothing may
		s.root().Send(s.registry, &connectionsAsk{to: hang})
		time.Sleep(time.Minute)
		if lag := s.Metrics().RegistryLag; lag < 58*time.Second || lag > time.Minute {
			t.Errorf("a registry that has hung for a minute is said to be %v late", lag)
		}
		<-hang
		time.Sleep(10 * time.Second)
		wantEqual(t, "at rest again", s.Metrics().RegistryLag, time.Duration(0))
	})
}

func TestDurations(t *testing.T) {
	d := &durations{}
	for _, took := range []time.Duration{-time.Second, 0, 5 * time.Millisecond, 6 * time.Millisecond, time.Second, 2 * time.Hour} {
		d.observe(took)
	}
	r := d.read()
	wantEqual(t, "count and sum", []any{r.Count, r.Seconds}, []any{6, 7201.011})
	wantEqual(t, "buckets", []any{r.Buckets[.005], r.Buckets[.01], r.Buckets[.5], r.Buckets[1], r.Buckets[3600]}, []any{3, 4, 4, 5, 5})
}

// A word that nobody expected is counted, but never becomes a label.
func TestTally(t *testing.T) {
	c := newTally("known", "quiet")
	c.add("known", 2)
	wantEqual(t, "as expected", c.read(), map[string]int{"known": 2, "quiet": 0})
	c.add("made up", 1)
	wantEqual(t, "with another", c.read(), map[string]int{"known": 2, "quiet": 0, "other": 1})
}

func TestCountingAllocatesNothing(t *testing.T) {
	c := newCounters()
	o := &Operation{State: Pending}
	sent, ended := &Operation{State: Sent}, &Operation{State: Succeeded}
	wantEqual(t, "allocations", testing.AllocsPerRun(100, func() {
		c.moved(nil, o)
		c.moved(o, sent)
		c.moved(sent, ended)
		c.operations.add(CommandSucceeded, 1)
		c.refusals.add("overloaded", 1)
		c.edgeWire.Read([]byte{34, 0})
	}), 0)
}

// Records that had to make room are counted as the list of operations counts them.
func TestDroppedRecordsAreCounted(t *testing.T) {
	opts := testOptions()
	opts.Audit.EdgeBuffer = 2
	bubble(t, opts, func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		for range 5 {
			answer := askCommand(s, commandFor("e1"))
			m, c := f.commandRequest()
			f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
			<-answer
		}
		page, _ := s.Operations(context.Background(), OperationQuery{Limit: 10})
		wantEqual(t, "listed, dropped, counted", []any{len(page.Operations), page.Dropped, s.Metrics().RecordsDropped}, []any{2, 3, 3})
	})
}
