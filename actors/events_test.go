package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

func subscribe(t *testing.T, s *System, after string) *Subscription {
	t.Helper()
	sub, f := s.Subscribe(context.Background(), after)
	if f != nil {
		t.Fatal(f)
	}
	return sub
}

// tell publishes events without an Edge behind them.
func tell(s *System, from, to int) {
	for i := from; i < to; i++ {
		s.root().Send(s.events, &publish{event: &Event{EdgeID: "e1", Kind: NodeReady, NodeID: fmt.Sprint(i)}})
	}
	synctest.Wait()
}

func nodes(events []*Event) (list []string) {
	for _, e := range events {
		list = append(list, e.NodeID)
	}
	return list
}

func TestSubscription(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		tell(s, 0, 3)
		sub := subscribe(t, s, "")
		wantEqual(t, "backlog without an id", []any{len(sub.Backlog), sub.Gap == nil}, []any{0, true})
		page, _ := s.Events(context.Background(), EventQuery{Limit: 3})
		resumed := subscribe(t, s, page.Events[0].ID())
		wantEqual(t, "backlog", nodes(resumed.Backlog), []string{"1", "2"})
		tell(s, 3, 5)
		for _, r := range []*Subscription{sub, resumed} {
			wantEqual(t, "live", []string{(<-r.Events).NodeID, (<-r.Events).NodeID}, []string{"3", "4"})
		}
		unknown := subscribe(t, s, "nonsense")
		wantEqual(t, "gap, backlog", []any{gapText(unknown.Gap), len(unknown.Backlog)}, []any{"restarted ?", 5})
		sub.Cancel()
		sub.Cancel()
		tell(s, 5, 6)
		wantEqual(t, "after its end", len(sub.Events), 0)
		wantEqual(t, "missed", sub.Missed(), false)
	})
}

// An asker who hung up before the answer leaves no subscriber behind.
func TestSubscriptionOfOneWhoHangsUp(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		ctx, hangUp := context.WithCancel(context.Background())
		hangUp()
		gone := 0
		for gone == 0 { // the answer may be there first
			if sub, f := s.Subscribe(ctx, ""); f != nil {
				gone++
			} else {
				sub.Cancel()
			}
		}
		tell(s, 0, SubscriberBuffer+1)
		wantEqual(t, "dropped for want of a reader", s.counters.eventsDropped.Load(), uint64(0))
	})
}

// A reader that can't keep up is cut off and can see that it missed something; the others get all of it.
func TestSlowReaderIsCutOff(t *testing.T) {
	opts := testOptions()
	opts.History.FleetBuffer = 1 << 15
	bubble(t, opts, func(t *testing.T, s *System) {
		slow, quick := subscribe(t, s, ""), subscribe(t, s, "")
		got := make(chan int)
		go func() {
			n := 0
			for range quick.Events {
				n++
			}
			got <- n
		}()
		for n := 0; n < SubscriberBuffer+10; n += 100 { // as the quick one reads
			tell(s, n, min(n+100, SubscriberBuffer+10))
		}
		read, last := 0, ""
		for e := range slow.Events {
			read, last = read+1, e.ID()
		}
		wantEqual(t, "read, missed", []any{read, slow.Missed()}, []any{SubscriberBuffer, true})
		wantEqual(t, "counted", s.Metrics().EventsDropped, 1)
		slow.Cancel()
		again := subscribe(t, s, last) // it resumes where it was, and has lost nothing
		wantEqual(t, "backlog, gap", []any{len(again.Backlog), again.Gap == nil}, []any{10, true})
		wantEqual(t, "the quick one missed", quick.Missed(), false)
		s.root().Stop(s.events)
		wantEqual(t, "the quick one read", <-got, SubscriberBuffer+10)
	})
}

func TestLiveEventIsRenderedOnce(t *testing.T) {
	times := 0
	render := func(e *Event) []byte { times++; return []byte(e.NodeID) }
	live := &LiveEvent{Event: &Event{NodeID: "n"}}
	for range 3 {
		wantEqual(t, "rendered", string(live.Render(render)), "n")
	}
	wantEqual(t, "times", times, 1)
}

// The order of events is that of the fleet, and an Edge's own pages are parts of it.
func TestEventsOfNodes(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		a, b := connect(t, s, "a"), connect(t, s, "b")
		for i := range 5 {
			a.send(nodeEvent(i))
			synctest.Wait()
			b.send(nodeEvent(i))
			synctest.Wait()
		}
		wantEqual(t, "events of a", len(kinds(t, s, "a")), 6)
		page, _ := s.Events(context.Background(), EventQuery{Limit: 100})
		for i, e := range page.Events[2:] {
			want := []string{"a", "b"}[i%2] + fmt.Sprint(i/2)
			wantEqual(t, "event", e.EdgeID+e.NodeID, want)
		}
	})
}
