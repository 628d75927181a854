package actors

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func (s *overTCP) connections() int {
	to := make(chan int, 1)
	s.root().Send(s.registry, &connectionsAsk{to: to})
	return <-to
}

func (s *overTCP) reason(id string) Reason {
	fleet, _ := s.Fleet(context.Background())
	if v := fleet.Get(id); v != nil {
		return v.DisconnectReason
	}
	return ""
}

// TestChurn opens and closes connections with asks under way, so that descriptors are used again while something of their
// former life is still on its way: no ask hangs, and none is answered by another Edge.
func TestChurn(t *testing.T) { eachReader(t, testOptions(), churn) }

func churn(t *testing.T, s *overTCP) {
	const workers, each = 20, 100
	var all, asks sync.WaitGroup
	var answered, lost atomic.Int64
	for w := range workers {
		all.Go(func() {
			for i := range each {
				id := fmt.Sprintf("e%d-%d", w, i%7) // some are taken over, or come back
				f := s.dialServing(t, id)
				for range 2 {
					asks.Go(func() {
						r := s.Status(context.Background(), id, 20*time.Second)
						switch {
						case r.Fault == nil && r.Snapshot.EdgeID == id:
							answered.Add(1)
						case r.Fault == nil || r.Fault.Code == wire.EdgeTimeout:
							t.Errorf("%s: answered with %+v", id, r)
						default:
							lost.Add(1)
						}
					})
				}
				if i%3 == 0 {
					s.Status(context.Background(), id, 20*time.Second)
				}
				if i%5 == 0 {
					_ = f.conn.(*net.TCPConn).SetLinger(0)
				}
				f.conn.Close()
			}
		})
	}
	all.Wait()
	asks.Wait()
	testkit.Eventually(t, "all connections have ended", func() bool { return s.connections() == 0 })
	if answered.Load() == 0 || lost.Load() == 0 {
		t.Errorf("%d asks were answered and %d not: nothing was shown", answered.Load(), lost.Load())
	}
	wantEqual(t, "connected", s.Metrics().EdgesConnected, 0)
}

// dialServing connects an Edge that answers each request with its status, and ends with its connection.
func (s *overTCP) dialServing(t *testing.T, id string) *fakeEdge {
	f := s.dial(t, id)
	go func() {
		for m := range f.in {
			if m.GetEdgeStatusRequest() != nil {
				f.reply(m.Id, statusOf(id, "n"))
			}
		}
	}()
	return f
}

// What an Edge said before it ended its half counts.
func TestHalfClose(t *testing.T) {
	eachReader(t, testOptions(), func(t *testing.T, s *overTCP) {
		f := s.open(t)
		var all []byte
		for _, m := range []*iopv1.Envelope{helloEnvelope(hello("e1")), statusOf("e1", "last"), goodbyeEnvelope()} {
			all, _ = wire.AppendFrame(all, m)
		}
		f.write(all)
		_ = f.conn.(*net.TCPConn).CloseWrite()
		if m := soon(t, f.in); m.GetEdgeHelloResponse() == nil {
			t.Fatalf("got %v", m)
		}
		testkit.Eventually(t, "the connection has ended", func() bool { return s.connections() == 0 })
		wantEqual(t, "why", s.reason("e1"), Goodbye)
		fleet, _ := s.Fleet(context.Background())
		wantEqual(t, "node", fleet.Get("e1").Pulse.Snapshot().Nodes()[0].NodeId, "last")
		f.conn.Close()
	})
}

// An Edge that floods and doesn't read is held up, and goes on when what it said was handled. Nothing is lost.
func TestFloodOverTCP(t *testing.T) {
	eachReader(t, testOptions(), func(t *testing.T, s *overTCP) {
		const frames = 2000
		flood, other := s.dial(t, "flood"), s.dial(t, "other")
		to := make(chan EventPage)
		s.root().Send(s.events, &eventsAsk{query: EventQuery{Limit: 1}, to: to}) // whose answer nobody takes yet
		var all []byte
		for i := range frames {
			all, _ = wire.AppendFrame(all, nodeEvent(i))
		}
		flood.write(all)
		status := make(chan StatusReply, 1)
		go func() { status <- s.Status(context.Background(), "other", 20*time.Second) }()
		other.reply(soon(t, other.in).Id, statusOf("other", "n"))
		wantEqual(t, "node", nodeOf(t, soon(t, status)), "n")
		<-to
		flood.send(ping())
		soon(t, flood.pongs) // behind all that
		testkit.Eventually(t, "all were handled", func() bool {
			page, _ := s.Events(context.Background(), EventQuery{Limit: frames + 10})
			return len(page.Events) == frames+2
		})
		flood.conn.Close()
		other.conn.Close()
	})
}

// A peer that says nothing, or breaks the framing, is told so where there is something to say, and cut.
func TestRefusedOverTCP(t *testing.T) {
	eachReader(t, testOptions(), func(t *testing.T, s *overTCP) {
		for name, c := range map[string]struct {
			greet bool
			write []byte
		}{
			"no hello":         {false, []byte{0, 0, 0, 0}},
			"too long a hello": {false, []byte{0, 2, 0, 0}},
			"no frame":         {true, []byte{0xff, 0, 0, 0}},
			"no envelope":      {true, []byte{0, 0, 0, 2, 0xff, 0xff}},
		} {
			f := s.open(t)
			if c.greet {
				f.send(helloEnvelope(hello("e1")))
				if m := soon(t, f.in); m.GetEdgeHelloResponse() == nil {
					t.Fatalf("%s: got %v", name, m)
				}
			}
			f.write(append(c.write, make([]byte, 200_000)...)) // what follows isn't acted on, and doesn't eat the answer
			if m := soon(t, f.in); m.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT {
				t.Fatalf("%s: got %v", name, m)
			}
			if m, open := <-f.in; open {
				t.Fatalf("%s: got %v after the last word", name, m)
			}
			f.conn.Close()
			testkit.Eventually(t, name+" has ended", func() bool { return s.connections() == 0 })
		}
		wantEqual(t, "why", s.reason("e1"), ProtocolError)
	})
}

// A second hello is the last frame that is acted on: no Ping behind it is answered, and no snapshot is kept.
func TestSecondHelloOverTCP(t *testing.T) {
	eachReader(t, testOptions(), func(t *testing.T, s *overTCP) {
		f := s.dial(t, "e1")
		var all []byte
		for _, m := range []*iopv1.Envelope{helloEnvelope(hello("e1")), ping(), statusOf("e1", "late")} {
			all, _ = wire.AppendFrame(all, m)
		}
		f.write(all)
		if m := soon(t, f.in); m.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION {
			t.Fatalf("got %v", m)
		}
		if m, open := <-f.in; open {
			t.Fatalf("got %v after the last word", m)
		}
		f.conn.Close()
		testkit.Eventually(t, "the connection has ended", func() bool { return s.connections() == 0 })
		fleet, _ := s.Fleet(context.Background())
		if fleet.Get("e1").Pulse.Snapshot() != nil || len(f.pongs) > 0 {
			t.Error("what came behind it was acted on")
		}
	})
}

// Who says nothing is cut when its time is up, with its place among the hellos.
func TestNoHelloOverTCP(t *testing.T) {
	opts := testOptions()
	opts.HelloTimeout = 50 * time.Millisecond
	eachReader(t, opts, func(t *testing.T, s *overTCP) {
		mute, slow := s.open(t), s.open(t)
		slow.write([]byte{0, 0, 0, 9, 1})
		for range mute.in {
		}
		for range slow.in {
		}
		mute.conn.Close()
		slow.conn.Close()
		testkit.Eventually(t, "both have ended", func() bool { return s.connections() == 0 && len(s.hellos) == 1 }) // the front's own
	})
}

// TestClaimantGoneOverTCP: a claimant that has hung up while its claim waited takes nobody's place.
func TestClaimantGoneOverTCP(t *testing.T) {
	opts := testOptions()
	opts.Table.RejectDuplicates = true
	eachReader(t, opts, func(t *testing.T, s *overTCP) {
		owner := s.open(t)
		owner.send(helloEnvelope(helloOf("e1", "a")))
		soon(t, owner.in)
		claimant := s.open(t)
		claimant.send(helloEnvelope(helloOf("e1", "b")))
		if m := soon(t, owner.in); m.GetPing() == nil {
			t.Fatalf("the owner got %v", m)
		}
		claimant.conn.Close()
		owner.conn.Close() // which is an end of the wait as its silence would be
		testkit.Eventually(t, "both are gone", func() bool { return s.connections() == 0 })
		fleet, _ := s.Fleet(context.Background())
		v := fleet.Get("e1")
		wantEqual(t, "instance, connections", []any{v.InstanceID, v.Connections}, []any{"a", 1})
	})
}

// TestDrainingOverTCP: who comes while the registry drains is told to go at once, and counts no more.
func TestDrainingOverTCP(t *testing.T) {
	eachReader(t, testOptions(), func(t *testing.T, s *overTCP) {
		done := make(chan struct{})
		s.root().Send(s.registry, &drain{done: done})
		<-done
		late := s.open(t)
		if m := soon(t, late.in); m.GetGoAway().GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN {
			t.Errorf("told %v", m)
		}
		for range late.in { // ends
		}
		late.conn.Close()
		testkit.Eventually(t, "its place is free", func() bool { return s.connections() == 0 && len(s.hellos) <= 1 }) // but for the next one's
	})
}
