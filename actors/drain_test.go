package actors

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// drainFor starts a drain with a deadline and says when it is through.
func drainFor(s *System, d time.Duration) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	go func() {
		defer cancel()
		s.Drain(ctx)
		took <- time.Since(began)
	}()
	synctest.Wait()
	return took
}

func TestReconnectAfter(t *testing.T) {
	for _, c := range []struct {
		i, n int
		want time.Duration
	}{
		{0, 1, time.Second},
		{0, 4, time.Second / 4},
		{3, 4, time.Second},
		{999, 1000, time.Second},
		{1999, 2000, 2 * time.Second},
		{9_999_999, 10_000_000, 10_000 * time.Second}, // the most that edges.max_connections may be
	} {
		wantEqual(t, fmt.Sprint(c.i, " of ", c.n), reconnectAfter(c.i, c.n), c.want)
	}
}

func TestDrainOfIdleEdges(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		var fleet []*fakeEdge
		for i := range 10 {
			fleet = append(fleet, connect(t, s, fmt.Sprint("e", i)))
		}
		silent := dial(t, s) // has said nothing yet
		synctest.Wait()
		took := drainFor(s, 15*time.Second)
		var after []time.Duration
		for _, f := range append(fleet, silent) {
			after = append(after, f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN).ReconnectAfter.AsDuration())
			f.ended()
		}
		slices.Sort(after)
		for i, d := range after { // spread evenly over a second
			if want := time.Second / 11 * time.Duration(i+1); d != want {
				t.Errorf("reconnect_after %d is %v, want %v", i, d, want)
			}
		}
		if d := <-took; d > time.Second {
			t.Errorf("took %v with nothing pending", d)
		}
		wantEqual(t, "connections", connections(s), 0)
		_, v := view(t, s, "e3")
		wantEqual(t, "why", v.DisconnectReason, Shutdown)
		wantEqual(t, "hello places taken", len(s.hellos), 0)
	})
}

// Behind a TLS handshake that doesn't come to its end no last word can be written: a stop doesn't wait for one.
func TestDrainOfAHandshake(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		s.hellos <- struct{}{}
		s.root().Send(s.registry, &accepted{newcomer{conn: tls.Server(theirs, &tls.Config{})}})
		synctest.Wait()
		if d := <-drainFor(s, 15*time.Second); d > time.Second {
			t.Errorf("took %v with nothing pending", d)
		}
		wantEqual(t, "hello places taken", len(s.hellos), 0)
		wantEqual(t, "handshakes that failed", s.Metrics().TLSFailures, 0)
	})
}

// What is pending is answered before the connection is closed; nothing new is begun.
func TestDrainAnswersWhatIsPending(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		status := askStatus(s, "e1", 10*time.Second)
		ms := f.request()
		command := askCommand(s, commandFor("e1"))
		mc, c := f.commandRequest()
		took := drainFor(s, 15*time.Second)
		f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN)
		wantFault(t, s.Status(context.Background(), "e1", time.Second).Fault, wire.ShuttingDown)
		wantReply(t, s.Command(context.Background(), commandFor("e1")), wire.ShuttingDown, "")
		late := dial(t, s)
		wantEqual(t, "who is late comes back after", late.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN).ReconnectAfter.AsDuration(), lateReconnect)
		late.ended()
		time.Sleep(2 * time.Second)
		f.reply(ms.Id, statusOf("e1", "n"))
		wantEqual(t, "node", nodeOf(t, <-status), "n")
		f.reply(mc.Id, outcomeOf(c.CommandId, outcomeSucceeded))
		wantReply(t, <-command, "", Succeeded)
		f.ended()
		if d := <-took; d < 2*time.Second || d > 3*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// An Edge that doesn't answer holds the drain up no longer than its callers wait.
func TestDrainOfAnEdgeThatHangs(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		answered, hangs := askStatus(s, "e1", 4*time.Second), askStatus(s, "e1", 2*time.Second)
		m := f.request()
		f.request()
		took := drainFor(s, 15*time.Second)
		f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN)
		wantFault(t, (<-hangs).Fault, wire.EdgeTimeout)
		time.Sleep(time.Second)
		f.reply(m.Id, statusOf("e1", "n"))
		nodeOf(t, <-answered)
		f.ended()
		if d := <-took; d > 3500*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		hangs := askStatus(s, "e1", 2*time.Second)
		f.request()
		took := drainFor(s, 15*time.Second)
		f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN)
		wantFault(t, (<-hangs).Fault, wire.EdgeTimeout)
		f.ended()
		if d := <-took; d > 3*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// What is unanswered at the deadline is unknown, and its caller is told; what was never written never will be.
func TestDrainAtItsDeadline(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f, mute := connect(t, s, "e1"), stuck(t, s, "e2")
		sent, queued := askCommand(s, commandFor("e1")), askCommand(s, commandFor("e2"))
		noWait := commandFor("e2")
		noWait.Wait = false
		told := wantReply(t, <-askCommand(s, noWait), "", Pending)
		f.commandRequest()
		status := askStatus(s, "e1", time.Minute)
		f.request()
		fleet := make(chan *wire.Fault, 1)
		go func() {
			_, fault := s.Gather(context.Background(), func(v *View) bool { return v.EdgeID == "e1" }, 0, time.Minute)
			fleet <- fault
		}()
		f.request()
		took := drainFor(s, 5*time.Second)
		wantEqual(t, "took", <-took, 5*time.Second)
		wantFault(t, (<-status).Fault, wire.ShuttingDown)
		wantFault(t, <-fleet, wire.ShuttingDown)
		o := wantReply(t, <-sent, wire.ShuttingDown, Unknown)
		wantEqual(t, "facts", phasesOf(o), []string{"unknown: the Control Plane stopped before the Edge answered"})
		wantReply(t, <-queued, wire.ShuttingDown, "")
		wantEqual(t, "the queued one on record", operation(t, s, "e2", told.ID).State, Expired)
		mute.conn.Close()
	})
}

// A stop tells all who wait, without a drain before it.
func TestStopAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(testOptions())
		f := connect(t, s, "e1")
		status := askStatus(s, "e1", time.Minute)
		f.request()
		command := askCommand(s, commandFor("e1"))
		f.commandRequest()
		sub, _ := s.Subscribe(context.Background(), "")
		began := time.Now()
		s.Stop()
		wantFault(t, (<-status).Fault, wire.EdgeDisconnected)
		wantReply(t, <-command, wire.EdgeDisconnected, Unknown)
		for range sub.Events {
		}
		wantEqual(t, "missed", sub.Missed(), false)
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
		f.ended()
		time.Sleep(20 * time.Second)
	})
}

func TestDrainOfAWaitingClaimant(t *testing.T) {
	bubble(t, rejecting(), func(t *testing.T, s *System) {
		owner := connectAs(t, s, helloOf("e1", "a"))
		claimant := dial(t, s)
		claimant.send(helloEnvelope(helloOf("e1", "b")))
		owner.request()
		took := drainFor(s, 15*time.Second)
		claimant.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN)
		owner.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN)
		if d := <-took; d > 4*time.Second {
			t.Errorf("took %v", d)
		}
		wantEqual(t, "connections", connections(s), 0)
	})
}

// A Client whose upgrade was on its way when the drain began is told to go like those before it.
func TestDrainOfALateClient(t *testing.T) {
	s := NewSystem(testOptions())
	defer s.Stop()
	front, err := NewClientFront(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := s.StartFront(front, l, func(err error) { t.Error(err) })
	defer served.Stop(context.Background())
	s.Drain(context.Background())
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+l.Addr().String()+wire.ClientPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	_ = ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, b, err := ws.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.Decode(b)
	wantEqual(t, "told", []any{m.GetGoAway().GetReason(), m.GetGoAway().GetReconnectAfter().AsDuration(), err},
		[]any{iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, lateReconnect, nil})
	if _, _, err = ws.ReadMessage(); !websocket.IsCloseError(err, wire.CloseGoingAway) {
		t.Errorf("the connection ended with %v", err)
	}
}
