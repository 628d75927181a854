package actors

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// stuck is an Edge that doesn't read: the answer to its hello stands in its link, and commands wait behind it.
func stuck(t *testing.T, s *System, id string) *fakeEdge {
	f := dialMute(t, s)
	f.send(helloEnvelope(hello(id)))
	f.beat(15 * time.Second)
	synctest.Wait()
	return f
}

// firstOperation is the one on record.
func firstOperation(t *testing.T, s *System) *Operation {
	t.Helper()
	synctest.Wait()
	page, f := s.Operations(context.Background(), OperationQuery{Limit: 2})
	if f != nil || len(page.Operations) != 1 {
		t.Fatalf("%d operations, %v", len(page.Operations), f)
	}
	return page.Operations[0]
}

func withTimeout(edgeID string, d time.Duration) *CommandAsk {
	ask := commandFor(edgeID)
	ask.Timeout = d
	return ask
}

// A command that was never written is taken back when its time is up, so that it never runs.
func TestQueuedCommandExpires(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := stuck(t, s, "e1")
		began := time.Now()
		answer := askCommand(s, withTimeout("e1", 2*time.Second))
		wantEqual(t, "state", firstOperation(t, s).State, Pending)
		o := wantReply(t, <-answer, wire.EdgeTimeout, Expired)
		wantEqual(t, "waited", time.Since(began), 2*time.Second)
		go f.pump() // it reads at last
		f.next()    // the hello's answer
		a := askStatus(s, "e1", time.Second)
		if m := f.request(); m.GetEdgeStatusRequest() == nil {
			t.Fatalf("got %v after the command was taken back", m)
		}
		<-a
		wantEqual(t, "sent at", operation(t, s, "e1", o.ID).SentAt.IsZero(), true)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "command_expired"})
	})
}

func TestQueuedCommandIsSentWhenItsTurnComes(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := stuck(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		noWait := commandFor("e1")
		noWait.Wait = false
		wantReply(t, <-askCommand(s, noWait), "", Pending) // it is on its way
		time.Sleep(5 * time.Second)
		go f.pump()
		f.next()
		m, c := f.commandRequest()
		wantEqual(t, "state", operation(t, s, "e1", c.CommandId).State, Sent)
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		o := wantReply(t, <-answer, "", Succeeded)
		wantEqual(t, "waited to be sent", o.SentAt.Sub(o.CreatedAt), 5*time.Second)
	})
}

// A takeover hands what was not begun to the newer connection; it is written once.
func TestQueuedCommandGoesToTheNewerConnection(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		old := stuck(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		young := connect(t, s, "e1")
		m, c := young.commandRequest()
		go old.pump()
		old.next() // the hello's answer
		old.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED)
		old.ended()
		young.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantReply(t, <-answer, "", Succeeded)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "edge_superseded", "command_sent", "command_succeeded"})
	})
}

// The connection ends and no other is there: the command never left, and leaves no operation; but an operation that
// somebody was told of stays on record.
func TestQueuedCommandWhoseConnectionEnds(t *testing.T) {
	for name, end := range map[string]func(f *fakeEdge){
		"closed":       func(f *fakeEdge) { f.conn.Close() },
		"write stands": func(*fakeEdge) { time.Sleep(11 * time.Second) },
		"fault":        func(f *fakeEdge) { f.write([]byte{0, 0, 0, 0}) },
		"goodbye":      func(f *fakeEdge) { f.send(goodbyeEnvelope()) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := stuck(t, s, "e1")
				waits, told := commandFor("e1"), commandFor("e1")
				told.Wait = false
				answer := askCommand(s, waits)
				o := wantReply(t, <-askCommand(s, told), "", Pending)
				end(f)
				wantReply(t, <-answer, wire.EdgeDisconnected, "")
				wantEqual(t, "left on record", firstOperation(t, s).ID, o.ID)
				wantEqual(t, "as", firstOperation(t, s).State, Expired)
			})
		})
	}
}

// Nothing that waited is written after a goodbye, though the Edge reads on.
func TestQueuedCommandAfterAGoodbye(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := stuck(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		synctest.Wait()
		f.send(goodbyeEnvelope())
		wantReply(t, <-answer, wire.EdgeDisconnected, "")
		go f.pump()
		f.next() // the hello's answer
		status := askStatus(s, "e1", time.Second)
		if m := f.request(); m.GetEdgeStatusRequest() == nil {
			t.Errorf("after its goodbye the Edge is sent %v", m)
		}
		<-status
	})
}

// A command that comes to its connection when its time is up, and nobody waits for it any more, is not written: an Edge whose
// clock is behind would run it.
func TestCommandThatComesLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"just so": 3 * time.Second, "already unknown": 8 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				held := make(chan int)
				s.root().Send(s.registry, &connectionsAsk{to: held}) // the registry is busy with this
				answer := askCommand(s, withTimeout("e1", 2*time.Second))
				time.Sleep(late)
				<-held
				o := wantReply(t, <-answer, wire.EdgeTimeout, cmp.Or(map[string]OperationState{"already unknown": Unknown}[name], Expired))
				synctest.Wait()
				kept := operation(t, s, "e1", o.ID)
				wantEqual(t, "state, never sent", []any{kept.State, kept.SentAt.IsZero()}, []any{Expired, true})
				status := askStatus(s, "e1", time.Second)
				if m := f.request(); m.GetEdgeStatusRequest() == nil {
					t.Errorf("the Edge is sent %v", m)
				}
				<-status
			})
		})
	}
}

// One that turns out to have been written by an older connection, after its caller was told that nobody knows, is asked about, too.
func TestLateAndLost(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		held := make(chan int)
		s.root().Send(s.registry, &connectionsAsk{to: held})
		answer := askCommand(s, withTimeout("e1", 2*time.Second))
		o := wantReply(t, <-answer, wire.EdgeTimeout, Unknown)
		s.root().Send(s.operations, &edgeBack{edgeID: "e1", token: 9})
		s.root().Send(s.operations, &commandSent{o.ID, 1, time.Now()})
		<-held
		wantEqual(t, "asked", f.request().GetEdgeCommandQueryRequest().GetCommandIds(), []string{o.ID})
	})
}

// An Edge that was back before its command's time was up is asked then, whether or not anybody says that the older connection ended.
func TestOutOfTimeAndBack(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := stuck(t, s, "e1")
		answer := askCommand(s, withTimeout("e1", 2*time.Second))
		o := firstOperation(t, s)
		s.root().Send(s.operations, &edgeBack{edgeID: "e1", token: 9})
		s.root().Send(s.operations, &commandSent{o.ID, 1, time.Now()})
		wantReply(t, <-answer, wire.EdgeTimeout, Unknown)
		go f.pump()
		f.next()
		f.commandRequest()
		wantEqual(t, "asked", f.request().GetEdgeCommandQueryRequest().GetCommandIds(), []string{o.ID})
	})
}

// A frame that the writer has begun may have arrived: it isn't taken back when the connection ends.
func TestBegunCommandIsLost(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		old := stuck(t, s, "e1")
		answer := askCommand(s, commandFor("e1"))
		frames := wire.NewFrameReader(old.conn, 1<<20)
		if _, err := frames.Next(); err != nil { // the hello's answer; the writer goes on to the command
			t.Fatal(err)
		}
		young := connect(t, s, "e1")
		o := wantReply(t, <-answer, wire.EdgeDisconnected, Unknown)
		wantEqual(t, "asked", young.request().GetEdgeCommandQueryRequest().GetCommandIds(), []string{o.ID})
		old.conn.Close()
	})
}

// What the writer has taken, but of which the actor hasn't heard yet, counts as written when the connection ends, and
// when the command's time is up.
func TestCommandThatTheWriterHas(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		link := &fakeLink{result: wire.Queued, done: make(chan struct{})} // nothing can be taken back
		pid, _ := connectLink(t, s, "e1", link)
		answer := askCommand(s, withTimeout("e1", 2*time.Second))
		o := wantReply(t, <-answer, wire.EdgeTimeout, Unknown)
		wantEqual(t, "sent", o.SentAt.IsZero(), false)

		answer = askCommand(s, commandFor("e1"))
		_, v := view(t, s, "e1")
		s.root().Send(pid, &superseded{view: v})
		o = wantReply(t, <-answer, wire.EdgeDisconnected, Unknown)
		s.root().Send(pid, &linkEnded{})
		wantEqual(t, "facts", phasesOf(operation(t, s, "e1", o.ID)), []string{"unknown: the connection ended before the Edge answered"})
	})
}

// That a command was written is said by its link, that it is lost by its connection's actor, and that the Edge is back by the
// registry: in whatever order this is heard, the command is unknown at once, and the Edge is asked about it.
func TestLostInAnyOrder(t *testing.T) {
	for _, order := range []string{"back sent lost", "back lost sent", "lost back sent", "lost sent back", "sent lost back", "sent back lost"} {
		t.Run(order, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := stuck(t, s, "e1")
				answer := askCommand(s, commandFor("e1"))
				o := firstOperation(t, s)
				said := map[string]any{"back": &edgeBack{edgeID: "e1", token: 9}, "sent": &commandSent{o.ID, 1, time.Now()}, "lost": &commandsLost{1, []string{o.ID}}}
				for _, what := range strings.Fields(order) {
					s.root().Send(s.operations, said[what])
				}
				wantReply(t, <-answer, wire.EdgeDisconnected, Unknown)
				go f.pump()
				f.next()
				f.commandRequest()
				wantEqual(t, "asked", f.request().GetEdgeCommandQueryRequest().GetCommandIds(), []string{o.ID})
			})
		})
	}
}

// What waited in the older connection's link is carried by the newer one in the order in which it was asked for: a drain and a resume
// must not change places.
func TestATakeoverKeepsTheOrder(t *testing.T) {
	opts := testOptions()
	opts.MaxInFlight, opts.Link.MaxQueueFrames = 64, 64
	bubble(t, opts, func(t *testing.T, s *System) {
		stuck(t, s, "e1")
		var asked []string
		for range 8 {
			noWait := commandFor("e1")
			noWait.Wait = false
			asked = append(asked, wantReply(t, <-askCommand(s, noWait), "", Pending).ID)
		}
		young := connect(t, s, "e1")
		var carried []string
		for range asked {
			_, c := young.commandRequest()
			carried = append(carried, c.CommandId)
		}
		wantEqual(t, "carried", carried, asked)
	})
}

// A command that meets a link which has just ended is answered when the registry knows that, so that who then looks finds the same; and
// where the Edge is back meanwhile it is carried by the newer connection.
func TestACommandThatMeetsAnEndedLink(t *testing.T) {
	ended := func(t *testing.T, s *System) (*actor.PID, <-chan CommandReply) {
		pid, _ := connectLink(t, s, "e1", &fakeLink{result: wire.Closed, done: make(chan struct{})})
		answer := askCommand(s, commandFor("e1"))
		if len(answer) > 0 {
			t.Fatalf("answered %+v before the end is known", <-answer)
		}
		return pid, answer
	}
	t.Run("the Edge is gone", func(t *testing.T) {
		bubble(t, testOptions(), func(t *testing.T, s *System) {
			pid, answer := ended(t, s)
			s.root().Send(pid, &linkEnded{})
			wantReply(t, <-answer, wire.EdgeDisconnected, "")
			_, v := view(t, s, "e1")
			wantEqual(t, "then", []any{v.Connected, v.DisconnectReason}, []any{false, ConnectionClosed})
		})
	})
	t.Run("the Edge is back", func(t *testing.T) {
		bubble(t, testOptions(), func(t *testing.T, s *System) {
			pid, answer := ended(t, s)
			young := connect(t, s, "e1")
			m, c := young.commandRequest()
			young.reply(m.Id, outcomeOf(c.CommandId, outcomeSucceeded))
			wantReply(t, <-answer, "", Succeeded)
			s.root().Send(pid, &linkEnded{})
		})
	})
}
