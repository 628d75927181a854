package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// A connection whose handling of a message panics ends, and that one only; nobody who waits for it waits in vain, in its
// table or behind the message in its mailbox.
func TestPanicInAConnection(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f, other := connect(t, s, "e1"), connect(t, s, "e2")
		status := askStatus(s, "e1", time.Minute)
		f.request()
		command := askCommand(s, commandFor("e1"))
		f.request()
		_, v := view(t, s, "e1")
		began := time.Now()
		behind := make(chan StatusReply, 2)
		commandBehind := make(chan CommandReply, 1)
		s.root().Send(v.pid, (*statusAsk)(nil)) // panics
		s.root().Send(v.pid, &statusAsk{edgeID: "e1", timeout: time.Minute, deadline: s.clock.mono() + int64(time.Minute), to: chanSink(behind)})
		ask := commandFor("e1")
		s.root().Send(s.operations, &commandAsk{ask: ask, request: &iopv1.EdgeCommandRequest{}, to: commandBehind})
		wantFault(t, (<-status).Fault, wire.EdgeDisconnected)
		wantReply(t, <-command, wire.EdgeDisconnected, Unknown)
		wantFault(t, answerOf[StatusReply](t, behind).Fault, wire.EdgeDisconnected)
		wantReply(t, answerOf(t, commandBehind), wire.EdgeDisconnected, "")
		wantEqual(t, "waited", time.Since(began), time.Duration(0))
		f.ended()
		wantEqual(t, "connections", connections(s), 1)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "command_sent", "edge_disconnected:connection_closed", "command_unknown"})

		a := askStatus(s, "e2", time.Second)
		other.reply(other.request().Id, statusOf("e2", "n"))
		wantEqual(t, "node", nodeOf(t, <-a), "n")
		connect(t, s, "e1").request() // and the Edge may come back, to be asked about its command
	})
}

// chanSink takes status answers, and counts on there being one.
type chanSink chan StatusReply

func (c chanSink) deliver(r StatusReply) { c <- r }

// The link breaks down in the middle of a request: its caller is told.
func TestPanicWhileAsking(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		link := &fakeLink{result: wire.Sent, done: make(chan struct{})}
		pid, _ := connectLink(t, s, "e1", link)
		before := askStatus(s, "e1", time.Minute)
		link.panics = "out of order"
		began := time.Now()
		asked := askStatus(s, "e1", time.Minute)
		for _, a := range []<-chan StatusReply{before, asked} {
			wantFault(t, (<-a).Fault, wire.EdgeDisconnected)
		}
		wantEqual(t, "waited", time.Since(began), time.Duration(0))
		select {
		case <-link.done:
		default:
			t.Error("the link wasn't ended")
		}
		s.root().Send(pid, &linkEnded{})
	})
}

// Whatever panics in the registry, in operations or in events, it ends no connection and no record.
func TestPanicInAnOwner(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		command := askCommand(s, commandFor("e1"))
		m, c := f.commandRequest()
		sub, _ := s.Subscribe(context.Background(), "")
		for range 20 {
			s.root().Send(s.registry, (*statusAsk)(nil))
			s.root().Send(s.operations, (*commandAsk)(nil))
			s.root().Send(s.events, (*publish)(nil))
		}
		synctest.Wait()
		f.reply(m.Id, outcomeOf(c.CommandId, outcomeAccepted))
		wantReply(t, <-command, "", Accepted)
		_, v := view(t, s, "e1")
		wantEqual(t, "connected, claims", []any{v.Connected, v.Connections}, []any{true, 1})
		wantEqual(t, "live", answerOf(t, sub.Events).Kind, CommandAccepted)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "command_sent", "command_accepted"})
		connect(t, s, "e2")
	})
}

// A claim that the registry lost ends its connection in the end, instead of waiting for ever.
func TestLostClaim(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		registry := s.registry
		s.registry = s.root().Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch ctx.Message().(type) {
			case *accepted, *claimWithdrawn, *ended, *connectionsAsk: // and claims are lost
				ctx.Forward(registry)
			}
		}))
		f := dial(t, s)
		f.send(helloEnvelope(hello("e1")))
		began := time.Now()
		f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED)
		f.ended()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("waited %v", took)
		}
		wantEqual(t, "counted", s.Metrics().HelloRefusals[overloaded], 1)
		wantEqual(t, "connections", connections(s), 0)
		s.root().Stop(s.registry)
		synctest.Wait()
		s.registry = registry
	})
}

// A claimant whose actor was stopped while its claim waited takes nobody's place.
func TestStoppedClaimant(t *testing.T) {
	bubble(t, rejecting(), func(t *testing.T, s *System) {
		connectAs(t, s, helloOf("e1", "owner")) // which doesn't answer the Ping
		e, _ := claimLink(s, helloOf("e1", "claimant"), &fakeLink{done: make(chan struct{})})
		s.root().Stop(e.pid) // as its parent does when it panics twice
		time.Sleep(ownerProbeTime + time.Second)
		_, v := view(t, s, "e1")
		wantEqual(t, "owner", []any{v.InstanceID, v.Connected}, []any{"owner", true})
	})
}

// One that was granted the id, and stopped before it heard of that, doesn't keep it.
func TestStoppedOwnerThatNeverKnew(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		deaf := s.root().Spawn(actor.PropsFromFunc(func(actor.Context) {}))
		s.root().Send(s.registry, &claimAsk{pid: deaf, hello: helloOf("e1", "claimant"), pulse: &Pulse{}, gone: func() bool { return false }})
		_, v := view(t, s, "e1")
		wantEqual(t, "granted", v.Connected, true)
		s.root().Send(s.registry, &claimWithdrawn{deaf, "e2"})
		_, v = view(t, s, "e1")
		wantEqual(t, "after another's", v.Connected, true)
		s.root().Send(s.registry, &claimWithdrawn{deaf, "e1"})
		_, v = view(t, s, "e1")
		wantEqual(t, "after its own", []any{v.Connected, v.DisconnectReason}, []any{false, ConnectionClosed})
		s.root().Stop(deaf)
	})
}

// A request for a connection that is gone by the time it gets there is answered.
func TestDeadLettersAreAnswered(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		_, v := view(t, s, "e1")
		f.conn.Close()
		synctest.Wait()
		answer := make(chan StatusReply, 1)
		s.root().Send(v.pid, &statusAsk{edgeID: "e1", to: chanSink(answer)})
		wantFault(t, answerOf(t, answer).Fault, wire.EdgeDisconnected)

		stuck(t, s, "e1")
		began := time.Now()
		command := askCommand(s, commandFor("e1")) // its first connection, say, was to carry it
		s.root().Send(v.pid, &dispatch{operationID: firstOperation(t, s).ID, edgeID: "e1"})
		wantReply(t, <-command, wire.EdgeDisconnected, "")
		wantEqual(t, "waited", time.Since(began), time.Duration(0))
		if n := s.Metrics().DeadLetters; n < 2 {
			t.Errorf("%d dead letters counted", n)
		}
	})
}

// A frame that whoever reads can't stand ends that connection only, not the goroutine that reads for all.
func TestPanicWhileReading(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		link := &fakeLink{done: make(chan struct{})}
		r := &reader{linkEvents: linkEvents{sys: s}, link: link, helloTaken: true} // no pulse: it panics
		if next := r.TakeFrame([]byte{8, 1}, nil); next != wire.Halt {
			t.Errorf("after it: %v", next)
		}
		select {
		case <-link.done:
		default:
			t.Error("the link goes on")
		}
	})
}
