package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func nodeEvent(n int) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{
		NodeId: fmt.Sprint(n), Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_READY}}}
}

// holdEvents stops the events' actor in the middle of an answer until the returned function is called.
func holdEvents(s *System) (release func()) {
	to := make(chan EventPage)
	s.root().Send(s.events, &eventsAsk{query: EventQuery{Limit: 1}, to: to})
	synctest.Wait()
	return func() { <-to }
}

// An Edge that floods is slowed: its reader waits until what came of its frames was handled. Nothing is lost, no queue
// grows, and others are served.
func TestFloodIsSlowedNotLost(t *testing.T) {
	const frames = 500
	opts := testOptions()
	opts.History.EdgeBuffer = 4096
	bubble(t, opts, func(t *testing.T, s *System) {
		flood, other := connect(t, s, "flood"), connect(t, s, "other")
		release := holdEvents(s)
		var taken atomic.Int64
		go func() {
			for i := range frames {
				if flood.send(nodeEvent(i)) {
					taken.Add(1)
				}
			}
		}()
		synctest.Wait()
		if n := taken.Load(); n < creditFrames || n > creditFrames+8 { // and what fits the reader's small buffer
			t.Errorf("%d frames were taken while nobody handled them", n)
		}
		a := askStatus(s, "other", time.Second)
		other.reply(other.request().Id, statusOf("other", "n"))
		wantEqual(t, "node", nodeOf(t, <-a), "n")
		release()
		synctest.Wait()
		wantEqual(t, "taken", taken.Load(), int64(frames))
		page, _ := s.Events(context.Background(), EventQuery{EdgeID: "flood", Limit: 5000})
		wantEqual(t, "events", len(page.Events), 1+frames)
		for i, e := range page.Events[1:] {
			if e.NodeID != fmt.Sprint(i) {
				t.Fatalf("event %d is of node %s", i, e.NodeID)
			}
		}
	})
}

// A reader that waits for credit ends with its connection.
func TestFloodEndsWithItsConnection(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *System, flood *fakeEdge){
		"taken over": func(t *testing.T, s *System, _ *fakeEdge) { connect(t, s, "flood") },
		"silent": func(_ *testing.T, _ *System, flood *fakeEdge) {
			flood.hang()
			time.Sleep(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				flood := connect(t, s, "flood")
				release := holdEvents(s)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for flood.send(nodeEvent(0)) {
					}
				}()
				synctest.Wait()
				end(t, s, flood)
				answerOf(t, ended)
				release()
			})
		})
	}
}

// Whatever a frame says, its credit is given back, once: twice would stop the actor for good.
func TestEveryFrameGivesItsCreditBack(t *testing.T) {
	query := func(to uint64) *iopv1.Envelope {
		return &iopv1.Envelope{ReplyTo: to, Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: &iopv1.EdgeCommandQueryResponse{UnknownCommandIds: []string{"x"}}}}
	}
	reply := func(to uint64, m *iopv1.Envelope) *iopv1.Envelope { m.ReplyTo = to; return m }
	for name, m := range map[string]*iopv1.Envelope{
		"node event":         nodeEvent(1),
		"unknown node event": {Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{Kind: 99}}},
		"command event":      phaseOf("x", phaseStarted), "late answer": outcomeOf("x", outcomeSucceeded),
		"unmatched answer": reply(99, statusOf("e1", "n")), "unmatched command answer": reply(99, outcomeOf("x", outcomeSucceeded)),
		"goodbye": goodbyeEnvelope(), "error": errorOf(3), "pong": {Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}},
		"stray pong": {Id: 3, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}, "stray error": {Id: 3, Body: errorOf(3).Body},
		"unknown body": {Id: 3}, "request": {Id: 3, Body: &iopv1.Envelope_EdgeStatusRequest{}},
		"unasked query answer":   query(0),
		"status answer":          reply(1, statusOf("e1", "n")),
		"status error":           reply(1, errorOf(3)),
		"command answer":         reply(2, outcomeOf("", outcomeSucceeded)),
		"command nonsense":       reply(2, &iopv1.Envelope{}),
		"query answer":           query(3),
		"query nonsense":         reply(3, statusOf("e1", "n")),
		"sign of life":           reply(4, &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}),
		"sign of life, nonsense": reply(4, statusOf("e1", "n")),
	} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, closed), func(t *testing.T) {
				bubble(t, testOptions(), func(t *testing.T, s *System) {
					link := &fakeLink{result: wire.Sent, done: make(chan struct{})}
					pid, credit := connectLink(t, s, "e1", link)
					askStatus(s, "e1", time.Minute)
					askCommand(s, commandFor("e1"))
					s.root().Send(pid, &queryCommands{edgeID: "e1", ids: []string{"x"}})
					s.root().Send(pid, &probeOwner{deadline: s.clock.mono() + int64(time.Minute)})
					synctest.Wait()
					if closed {
						s.root().Send(pid, &stalled{})
					}
					var message any = m
					if status := m.GetEdgeStatusResponse(); status != nil {
						message = &statusRead{m, newSnapshot(status.EdgeId, status, nil, time.Now())}
					}
					credit.take()
					s.root().Send(pid, message)
					synctest.Wait()
					wantEqual(t, "credit taken", credit.taken.Load(), 0)
					answer := make(chanSink, 1) // the actor still listens
					s.root().Send(pid, &statusAsk{edgeID: "e1", deadline: s.clock.mono() + 1, to: answer})
					time.Sleep(time.Second)
					s.root().Send(pid, &stalled{})
					s.root().Send(pid, &linkEnded{})
					synctest.Wait()
				})
			})
		}
	}
}
