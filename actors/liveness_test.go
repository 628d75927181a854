package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

func TestStaleThenTimedOut(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) { // an interval of 15 s, swept every 1.875 s
		f := connect(t, s, "e1")
		a := askStatus(s, "e1", 10*time.Minute)
		f.request()
		f.hang()
		began := time.Now()
		state := func() State { fleet, v := view(t, s, "e1"); return fleet.State(v) }
		time.Sleep(22 * time.Second)
		wantEqual(t, "before 1.5 intervals", state(), Connected)
		time.Sleep(time.Second)
		wantEqual(t, "after 1.5 intervals", state(), Stale)
		time.Sleep(14 * time.Second) // 37 of 37.5 s
		wantEqual(t, "before 2.5 intervals", state(), Stale)
		f.ended()
		if took := time.Since(began); took < 37500*time.Millisecond || took > 40*time.Second {
			t.Errorf("ended after %v", took)
		}
		r := <-a
		wantEqual(t, "why", r.View.DisconnectReason, HeartbeatTimeout)
		wantEqual(t, "state", state(), Disconnected)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "edge_disconnected:heartbeat_timeout"})
	})
}

// Any whole frame counts as life, also one that is answered with an error or that means nothing.
func TestAnyFrameIsLife(t *testing.T) {
	for name, m := range map[string]*iopv1.Envelope{
		"a push":     statusOf("e1", "n"),
		"a Ping":     ping(),
		"an answer":  {ReplyTo: 77},
		"no body":    {Id: 5},
		"an Error":   errorOf(3),
		"a foreign":  statusOf("e2", "n"),
		"an unknown": phaseOf("nobody's", phaseStarted),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				f.hang()
				for range 6 {
					time.Sleep(20 * time.Second)
					f.send(m)
				}
				fleet, v := view(t, s, "e1")
				wantEqual(t, "state", fleet.State(v), Connected)
				wantEqual(t, "last seen", fleet.At.Sub(fleet.LastSeen(v)), time.Duration(0))
			})
		})
	}
}

// Half a frame is no life.
func TestHalfAFrameIsNoLife(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		f.hang()
		for range 60 { // a slow drip of one large frame
			if !f.write([]byte{0}) {
				break
			}
			time.Sleep(time.Second)
			if len(f.in) > 0 {
				break
			}
		}
		f.write([]byte{0, 0})
		synctest.Wait()
		if m := f.next(); m.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT { // four zeros are a length of 0
			t.Fatalf("got %v", m)
		}
		g := connect(t, s, "e2")
		g.hang()
		g.write([]byte{0, 0, 4, 0}) // a frame of 1 KiB that never gets whole
		for g.write([]byte{1}) {
			time.Sleep(time.Second)
		}
		_, v := view(t, s, "e2")
		wantEqual(t, "why", v.DisconnectReason, HeartbeatTimeout)
	})
}

func TestPong(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		sent := time.Now().Add(-1500 * time.Millisecond)
		m := &iopv1.Envelope{Id: 9, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.New(sent)}}}
		f.send(m)
		pong := <-f.pongs
		wantEqual(t, "sent_at", pong.SentAt.AsTime().Equal(sent), true)
		wantEqual(t, "server_time, interval", []any{pong.ServerTime.AsTime().Equal(time.Now()), pong.HeartbeatInterval}, []any{true, nil})
		_, v := view(t, s, "e1")
		skew, known := v.Pulse.Skew()
		wantEqual(t, "skew", []any{skew, known}, []any{-1500 * time.Millisecond, true})

		f.send(&iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}}) // no id, no time: still answered
		pong = <-f.pongs
		wantEqual(t, "sent_at", pong.SentAt, nil)
	})
}

// As the fleet grows heartbeats are stretched, and as it shrinks they come closer again. The Pong says so, once.
func TestStretchIsAnnounced(t *testing.T) {
	opts := testOptions()
	opts.Table.HeartbeatInterval, opts.Table.MaxHeartbeatsPerSecond = 2*time.Second, 1
	bubble(t, opts, func(t *testing.T, s *System) {
		first := connect(t, s, "e0")
		first.hang()
		beat := func() time.Duration { first.send(ping()); return (<-first.pongs).HeartbeatInterval.AsDuration() }
		wantEqual(t, "alone", beat(), time.Duration(0))
		var others []*fakeEdge
		for _, id := range []string{"e1", "e2", "e3", "e4"} {
			f := dial(t, s)
			f.send(helloEnvelope(hello(id)))
			synctest.Wait() // so that the fifth hello is the fifth claim
			f.beat(time.Second)
			others = append(others, f)
		}
		wantEqual(t, "the fifth hello's answer", others[3].next().GetEdgeHelloResponse().HeartbeatInterval.AsDuration(), 5*time.Second)
		_, v := view(t, s, "e0")
		wantEqual(t, "in force before the Pong", v.Pulse.Interval(), 2*time.Second)
		wantEqual(t, "stretched", beat(), 5*time.Second)
		synctest.Wait() // it is in force once its Pong was written
		wantEqual(t, "in force", v.Pulse.Interval(), 5*time.Second)
		wantEqual(t, "said once", beat(), time.Duration(0))
		time.Sleep(12 * time.Second) // within 2.5 of the new intervals
		_, v = view(t, s, "e0")
		wantEqual(t, "connected", v.Connected, true)
		for _, f := range others {
			f.conn.Close()
		}
		synctest.Wait()
		wantEqual(t, "alone again", beat(), 2*time.Second)
		wantEqual(t, "for all", s.HeartbeatInterval(), 2*time.Second)
	})
}

// A peer whose other half is gone is silent: nothing it is sent comes back, and no close ever comes.
func TestHalfOpen(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		dead := dialMute(t, s)
		dead.send(helloEnvelope(hello("e1")))
		synctest.Wait()
		a := askStatus(s, "e1", 2*time.Second)
		time.Sleep(time.Second)
		alive := connect(t, s, "e1") // the same Edge, on a new connection, at once
		r := <-a
		wantEqual(t, "asked of the older one", r.Fault, faultSuperseded)
		b := askStatus(s, "e1", 2*time.Second)
		alive.reply(alive.request().Id, statusOf("e1", "n"))
		wantEqual(t, "node", nodeOf(t, <-b), "n")
		time.Sleep(time.Minute)
		wantEqual(t, "connections", connections(s), 1)
		wantEqual(t, "events", kinds(t, s, "e1"), []string{"edge_connected", "edge_superseded"})
	})
}

func TestRetainNobody(t *testing.T) {
	opts := testOptions()
	opts.Table.RetainDisconnectedMax = 0
	bubble(t, opts, func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		a := askStatus(s, "e1", time.Minute)
		f.request()
		c := askCommand(s, commandFor("e1"))
		f.request()
		f.conn.Close()
		if r := <-a; r.Fault == nil || r.View != nil {
			t.Errorf("answered with %+v", r)
		}
		<-c
		_, v := view(t, s, "e1")
		wantEqual(t, "view", v == nil, true)
		wantEqual(t, "its own events", len(kinds(t, s, "e1")), 0)
		wantEqual(t, "the fleet's", kinds(t, s, ""), []string{"edge_connected", "command_sent", "edge_disconnected:connection_closed", "command_unknown"})
		connect(t, s, "e1").request() // it is asked all the same
	})
}
