package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func nodeOf(t *testing.T, r StatusReply) string {
	t.Helper()
	if r.Fault != nil || r.Snapshot == nil {
		t.Fatalf("answered with %+v, want a snapshot", r)
	}
	return r.Snapshot.Nodes()[0].NodeId
}

func TestStatusRoundTrip(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		answer := askStatus(s, "e1", 2*time.Second)
		m := f.request()
		wantEqual(t, "timeout told to the Edge", m.GetEdgeStatusRequest().Timeout.AsDuration(), 2*time.Second)
		f.reply(m.Id, statusOf("e1", "n1"))
		wantEqual(t, "node", nodeOf(t, <-answer), "n1")
		_, v := view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "n1")
	})
}

// Answers find their callers whatever their order, and what belongs to nobody reaches nobody.
func TestStatusCorrelation(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		a, b, c := askStatus(s, "e1", 2*time.Second), askStatus(s, "e1", 2*time.Second), askStatus(s, "e1", 2*time.Second)
		ma, mb, mc := f.request(), f.request(), f.request()
		f.reply(mc.Id, statusOf("e1", "c"))
		f.reply(mc.Id, statusOf("e1", "duplicate"))
		f.reply(9999, statusOf("e1", "unknown"))
		f.reply(ma.Id, statusOf("e1", "a"))
		wantEqual(t, "c", nodeOf(t, <-c), "c")
		wantEqual(t, "a", nodeOf(t, <-a), "a")
		wantFault(t, (<-b).Fault, wire.EdgeTimeout)
		time.Sleep(time.Millisecond)
		f.reply(mb.Id, statusOf("e1", "late"))
		synctest.Wait()
		wantEqual(t, "unmatched", s.Metrics().UnmatchedAnswers, 3)
		_, v := view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "a")

		d := askStatus(s, "e1", time.Second) // the connection is none the worse
		f.reply(f.request().Id, statusOf("e1", "d"))
		wantEqual(t, "d", nodeOf(t, <-d), "d")
	})
}

func TestStatusAnsweredWithNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		answer    *iopv1.Envelope
		edgeError string
		foreign   int64
	}{
		"an Error":         {answer: errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL), edgeError: "INTERNAL"},
		"an unknown Error": {answer: errorOf(77), edgeError: "UNSPECIFIED"},
		"another type":     {answer: outcomeOf("x", iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED)},
		"a Ping":           {answer: ping()},
		"no body":          {answer: &iopv1.Envelope{}},
		"another Edge's":   {answer: statusOf("e2", "n"), foreign: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				connect(t, s, "e2")
				answer := askStatus(s, "e1", 2*time.Second)
				f.reply(f.request().Id, c.answer)
				r := <-answer
				wantFault(t, r.Fault, wire.EdgeError)
				wantEqual(t, "edge_error", r.EdgeError, c.edgeError)
				wantEqual(t, "foreign", s.Metrics().ForeignSnapshots, c.foreign)
				for _, id := range []string{"e1", "e2"} {
					if _, v := view(t, s, id); v.Pulse.Snapshot() != nil || !v.Connected {
						t.Errorf("%s was harmed: %+v", id, v)
					}
				}
			})
		})
	}
}

func TestPushes(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		f.send(statusOf("e1", "n1"))
		f.send(statusOf("e1", "n2"))
		f.send(statusOf("e2", "foreign"))
		_, v := view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "n2")
		f.send(statusOf("", "n1")) // names nobody: its sender's
		_, v = view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "n1")
		f.send(statusOf("e1", "n2"))
		_, v = view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "n2")
		wantEqual(t, "foreign", s.Metrics().ForeignSnapshots, 1)
		// A takeover keeps the last word until the new connection speaks.
		again := connect(t, s, "e1")
		_, v = view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "n2")
		again.send(statusOf("e1", "n3"))
		_, v = view(t, s, "e1")
		wantEqual(t, "kept", v.Pulse.Snapshot().Nodes()[0].NodeId, "n3")
	})
}

func TestStatusOfNobody(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		wantFault(t, s.Status(context.Background(), "e1", time.Second).Fault, wire.EdgeNotFound)
		f := connect(t, s, "e1")
		f.conn.Close()
		synctest.Wait()
		r := s.Status(context.Background(), "e1", time.Second)
		wantFault(t, r.Fault, wire.EdgeDisconnected)
		wantEqual(t, "why", r.View.DisconnectReason, ConnectionClosed)
	})
}

func TestBusy(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) { // 4 in flight
		f := connect(t, s, "e1")
		var answers []<-chan StatusReply
		for range 4 {
			answers = append(answers, askStatus(s, "e1", 2*time.Second))
		}
		began := time.Now()
		wantFault(t, s.Status(context.Background(), "e1", time.Second).Fault, wire.EdgeBusy)
		wantFault(t, s.Command(context.Background(), commandFor("e1")).Fault, wire.EdgeBusy)
		wantEqual(t, "waited to be told", time.Since(began), time.Duration(0))
		f.reply(f.request().Id, statusOf("e1", "n"))
		<-answers[0]
		answers[0] = askStatus(s, "e1", 2*time.Second)
		for _, a := range answers {
			wantFault(t, (<-a).Fault, wire.EdgeTimeout)
		}
		time.Sleep(time.Millisecond)
		// Those that timed out no longer count, though the Edge never answered them.
		last := askStatus(s, "e1", time.Second)
		for range 4 {
			f.request()
		}
		f.reply(f.request().Id, statusOf("e1", "again"))
		wantEqual(t, "node", nodeOf(t, <-last), "again")
	})
}

// A peer that reads nothing lets its queue fill up; further callers are told busy, and the Control Plane stays well.
func TestQueueFull(t *testing.T) {
	opts := testOptions()
	opts.MaxInFlight, opts.Link.MaxQueueFrames = 100, 3
	bubble(t, opts, func(t *testing.T, s *System) {
		mute := dialMute(t, s)
		mute.send(helloEnvelope(hello("mute")))
		synctest.Wait() // the hello's answer stands in the pipe
		other := connect(t, s, "other")
		busy := 0
		var waiting []<-chan StatusReply
		for range 10 {
			a := askStatus(s, "mute", 20*time.Second)
			select {
			case r := <-a:
				wantFault(t, r.Fault, wire.EdgeBusy)
				busy++
			default:
				waiting = append(waiting, a)
			}
		}
		wantEqual(t, "told busy", busy, 7) // the hello's answer is being written, three wait
		a := askStatus(s, "other", time.Second)
		other.reply(other.request().Id, statusOf("other", "n"))
		wantEqual(t, "node", nodeOf(t, <-a), "n")
		for _, a := range waiting {
			r := <-a
			wantFault(t, r.Fault, wire.EdgeDisconnected)
			wantEqual(t, "why", r.View.DisconnectReason, WriteTimeout)
		}
		wantEqual(t, "events", kinds(t, s, "mute"), []string{"edge_connected", "edge_disconnected:write_timeout"})
	})
}

func TestStatusLostInFlight(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		a := askStatus(s, "e1", 20*time.Second)
		f.request()
		f.conn.Close()
		r := <-a
		wantFault(t, r.Fault, wire.EdgeDisconnected)
		if r.View == nil || r.View.Connected || r.View.DisconnectReason != ConnectionClosed {
			t.Errorf("view %+v", r.View)
		}

		f = connect(t, s, "e1")
		a = askStatus(s, "e1", 20*time.Second)
		m := f.request()
		connect(t, s, "e1")
		wantFault(t, (<-a).Fault, wire.EdgeDisconnected) // superseded
		f.reply(m.Id, statusOf("e1", "of the older one"))
		_, v := view(t, s, "e1")
		if v.Pulse.Snapshot() != nil {
			t.Error("an older connection's answer was kept")
		}
	})
}
