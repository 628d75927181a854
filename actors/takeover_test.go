package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
)

func TestTakeover(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		old := connect(t, s, "e1")
		old.send(statusOf("e1", "old"))
		young := connect(t, s, "e1")
		old.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED)
		old.ended()
		wantEqual(t, "connections", connections(s), 1)
		young.send(statusOf("e1", "young"))
		_, v := view(t, s, "e1")
		wantEqual(t, "view", []any{v.Connected, v.Connections, v.Takeovers, v.Pulse.Snapshot().Nodes()[0].NodeId}, []any{true, 2, 1, "young"})
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "edge_superseded"})
		wantEqual(t, "takeovers counted", s.Metrics().Takeovers, 1)
		wantEqual(t, "connected counted", s.Metrics().EdgesConnected, 1)
	})
}

// Whatever an older connection still says or does touches nothing. It is kept from hearing of its end by not reading.
func TestOlderConnectionHasNoVoice(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		old := dialMute(t, s)
		old.send(helloEnvelope(hello("e1")))
		synctest.Wait()
		young := connect(t, s, "e1")
		young.send(statusOf("e1", "young"))
		before := kinds(t, s, "e1")
		for _, m := range []*iopv1.Envelope{
			statusOf("e1", "old"), ping(), goodbyeEnvelope(), phaseOf("x", iopv1.CommandPhase_COMMAND_PHASE_STARTED),
			{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{NodeId: "n", Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_READY}}},
			helloEnvelope(hello("e1")),
		} {
			old.send(m)
		}
		time.Sleep(time.Minute) // its write stalls, its heartbeats stop
		old.conn.Close()
		_, v := view(t, s, "e1")
		wantEqual(t, "view", []any{v.Connected, v.Pulse.Snapshot().Nodes()[0].NodeId, v.DisconnectReason}, []any{true, "young", ""})
		wantEqual(t, "events", kinds(t, s, "e1"), before)
		wantEqual(t, "connections", connections(s), 1)
	})
}

// The sequence in which an older connection speaks after the registry has granted its id to another, but before it has
// heard of it, can't be made from outside: the registry's mailbox is told directly.
func TestRegistryDropsWhatOlderConnectionsSay(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		connect(t, s, "e1")
		_, old := view(t, s, "e1")
		connect(t, s, "e1")
		c := &credit{}
		tell := func(m any) { s.root().Send(s.registry, m); synctest.Wait() }
		c.take()
		tell(&said{edgeID: "e1", token: old.token, credit: c, event: &Event{EdgeID: "e1", Kind: NodeReady}})
		c.take()
		tell(&said{edgeID: "e1", token: old.token, credit: c, answer: &commandAnswer{operationID: "x", late: true}})
		c.take()
		tell(&said{edgeID: "unknown", token: 1, credit: c, query: &queryAnswered{}})
		wantEqual(t, "credit taken, unmatched", []any{c.taken.Load(), s.Metrics().UnmatchedAnswers}, []any{0, 1})
		tell(&ended{pid: old.pid, edgeID: "e1", token: old.token, reason: ConnectionClosed})
		_, v := view(t, s, "e1")
		wantEqual(t, "connected", v.Connected, true)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "edge_superseded"})
	})
}

func TestClones(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		for i := range 6 { // five takings from a live owner
			connectAs(t, s, helloOf("e1", string(rune('a'+i))))
			time.Sleep(time.Second)
		}
		list := kinds(t, s, "e1")
		wantEqual(t, "last event", list[len(list)-1], "edge_conflict")
		fleet, v := view(t, s, "e1")
		wantEqual(t, "owner, conflict", []any{v.InstanceID, fleet.InConflict(v)}, []any{"f", true})
		refused := dial(t, s)
		refused.send(helloEnvelope(helloOf("e1", "g")))
		refused.refusedWith(iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED)
		refused.ended()
		// The owner may come back on a new connection, and is still the owner in a conflict.
		owner := connectAs(t, s, helloOf("e1", "f"))
		refused = dial(t, s)
		refused.send(helloEnvelope(helloOf("e1", "g")))
		refused.refusedWith(iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED)
		owner.conn.Close()
		synctest.Wait()
		connectAs(t, s, helloOf("e1", "g")) // the owner is gone
		fleet, v = view(t, s, "e1")
		wantEqual(t, "owner, conflict", []any{v.InstanceID, fleet.InConflict(v)}, []any{"g", false})
	})
}

// A conflict is told of before what the takeover that made it ends: behind the events, the older connection is told. All that the
// registry says comes to one mailbox here, in the order in which it says it.
func TestAConflictIsToldBeforeWhatItEnds(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		var said []string
		probe := s.root().Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch m := ctx.Message().(type) {
			case *publish:
				said = append(said, string(m.event.Kind))
			case *superseded:
				said = append(said, "superseded")
			}
		}))
		operations := s.operations
		s.operations = probe
		for i := range 6 {
			said = nil
			s.root().Send(s.registry, &claimAsk{pid: probe, hello: helloOf("e1", string(rune('a'+i))), pulse: &Pulse{}})
			synctest.Wait()
		}
		wantEqual(t, "said", said, []string{"edge_superseded", "edge_conflict", "superseded"})
		s.operations = operations
	})
}

func rejecting() Options {
	opts := testOptions()
	opts.Table.RejectDuplicates = true
	return opts
}

func TestRejectPolicy(t *testing.T) {
	bubble(t, rejecting(), func(t *testing.T, s *System) {
		owner := connectAs(t, s, helloOf("e1", "a"))
		claimant := dial(t, s)
		claimant.send(helloEnvelope(helloOf("e1", "b")))
		time.Sleep(2 * time.Second)
		owner.reply(owner.request().Id, &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
		claimant.refusedWith(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)
		claimant.ended()

		claimant = dial(t, s)
		began := time.Now()
		claimant.send(helloEnvelope(helloOf("e1", "b")))
		if m := claimant.next(); m.GetEdgeHelloResponse() == nil { // the owner is silent
			t.Fatalf("got %v", m)
		}
		wantEqual(t, "owner's time", time.Since(began), 3*time.Second)
		owner.request()
		owner.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED)
		wantEqual(t, "connections", connections(s), 1)

		same := connectAs(t, s, helloOf("e1", "b")) // the same instance takes its own place unasked
		claimant.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED)
		third := dial(t, s)
		third.send(helloEnvelope(helloOf("e1", "c")))
		same.request()
		began = time.Now()
		same.conn.Close()
		third.next()
		wantEqual(t, "waited for an owner that ended", time.Since(began), time.Duration(0))
		wantEqual(t, "connections", connections(s), 1)
	})
}

// Whatever the owner answers, it lives.
func TestAnOwnerThatAnswersWithAnErrorStays(t *testing.T) {
	bubble(t, rejecting(), func(t *testing.T, s *System) {
		owner := connectAs(t, s, helloOf("e1", "a"))
		claimant := dial(t, s)
		claimant.send(helloEnvelope(helloOf("e1", "b")))
		owner.reply(owner.request().Id, &iopv1.Envelope{Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED}}})
		claimant.refusedWith(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)
		_, v := view(t, s, "e1")
		wantEqual(t, "owner", v.InstanceID, "a")
	})
}

// The time that a claimant waited for its place isn't silence of its own.
func TestAClaimantThatWaitedIsNotSilent(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 2 * time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			opts := rejecting()
			opts.Table.HeartbeatInterval = interval
			bubble(t, opts, func(t *testing.T, s *System) {
				owner := connectAs(t, s, helloOf("e1", "a"))
				owner.beat(interval) // and doesn't answer
				claimant := dial(t, s)
				claimant.send(helloEnvelope(helloOf("e1", "b")))
				if m := claimant.next(); m.GetEdgeHelloResponse() == nil {
					t.Fatalf("got %v", m)
				}
				time.Sleep(interval * 9 / 10)
				fleet, v := view(t, s, "e1")
				wantEqual(t, "it", []any{v.InstanceID, fleet.State(v)}, []any{"b", Connected})
			})
		})
	}
}

// A claimant whose turn doesn't come in time is told to come back.
func TestAClaimThatIsNotDecidedInTime(t *testing.T) {
	bubble(t, rejecting(), func(t *testing.T, s *System) {
		connectAs(t, s, helloOf("e1", "owner"))
		var claimants []*fakeEdge
		for i := range 5 { // each owner in turn is silent for 3 s
			f := dial(t, s)
			f.send(helloEnvelope(helloOf("e1", fmt.Sprint(i))))
			synctest.Wait()
			claimants = append(claimants, f)
		}
		began := time.Now()
		last := claimants[4]
		if after := last.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED).ReconnectAfter.AsDuration(); after < 5*time.Second {
			t.Errorf("reconnect_after %v", after)
		}
		wantEqual(t, "after", time.Since(began), claimTime)
		last.ended()
		wantEqual(t, "counted", s.Metrics().HelloRefusals[overloaded], 1)
		_, v := view(t, s, "e1")
		wantEqual(t, "owner", v.InstanceID, "3")
	})
}

// The owner's silence counts against that owner alone: who took the place meanwhile is asked in turn.
func TestRejectPolicyAsksEachOwner(t *testing.T) {
	pong := func(f *fakeEdge) {
		f.reply(f.request().Id, &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
	}
	t.Run("the owner came back", func(t *testing.T) {
		bubble(t, rejecting(), func(t *testing.T, s *System) {
			connectAs(t, s, helloOf("e1", "a"))
			claimant := dial(t, s)
			claimant.send(helloEnvelope(helloOf("e1", "b")))
			synctest.Wait()
			again := connectAs(t, s, helloOf("e1", "a"))
			pong(again)
			claimant.refusedWith(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)
			_, v := view(t, s, "e1")
			wantEqual(t, "owner", v.InstanceID, "a")
		})
	})
	t.Run("two claimants", func(t *testing.T) {
		for name, end := range map[string]func(*fakeEdge){
			"the owner ends":      func(f *fakeEdge) { f.conn.Close() },
			"the owner is silent": func(*fakeEdge) {},
		} {
			t.Run(name, func(t *testing.T) {
				bubble(t, rejecting(), func(t *testing.T, s *System) {
					owner := connectAs(t, s, helloOf("e1", "a"))
					first, second := dial(t, s), dial(t, s)
					first.send(helloEnvelope(helloOf("e1", "b")))
					synctest.Wait()
					second.send(helloEnvelope(helloOf("e1", "c")))
					synctest.Wait()
					end(owner)
					if m := first.next(); m.GetEdgeHelloResponse() == nil {
						t.Fatalf("the first claimant got %v", m)
					}
					pong(first)
					second.refusedWith(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)
					wantEqual(t, "connections", connections(s), 1)
				})
			})
		}
	})
}
