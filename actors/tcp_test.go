package actors

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// overTCP is a System that serves a real listener, with either way to read it. The test fails when a goroutine of it is left.
type overTCP struct {
	*System
	stopFront func() // may be called again
	address   string
}

func eachReader(t *testing.T, opts Options, test func(*testing.T, *overTCP)) {
	for name, unpolled := range map[string]bool{"polled": false, "goroutines": true} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			s := NewSystem(opts)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if unpolled { // only a listener that is known to be TCP's is polled
				l = struct{ net.Listener }{l}
			}
			front := s.StartFront(NewEdgeFront(s), l, func(err error) { t.Error(err) })
			stopFront := sync.OnceFunc(func() { front.Stop(context.Background()) })
			test(t, &overTCP{s, stopFront, l.Addr().String()})
			stopFront()
			s.Stop()
			for range 50 { // protoactor's throttle of dead letters ends after a second
				if err = goleak.Find(before); err == nil {
					return
				}
			}
			t.Error(err)
		})
	}
}

// open connects without a word. The fake reads whatever comes.
func (s *overTCP) open(t *testing.T) *fakeEdge {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	f := newFakeEdge(t, conn)
	go f.pump()
	return f
}

func (s *overTCP) dial(t *testing.T, id string) *fakeEdge {
	t.Helper()
	f := s.open(t)
	f.send(helloEnvelope(hello(id)))
	if m := soon(t, f.in); m.GetEdgeHelloResponse() == nil {
		t.Fatalf("got %v", m)
	}
	return f
}

// TestOverTCP goes once through a whole life over real sockets.
func TestOverTCP(t *testing.T) { eachReader(t, testOptions(), lifeOverTCP) }

func lifeOverTCP(t *testing.T, s *overTCP) {
	dialTCP := func(id string) *fakeEdge { return s.dial(t, id) }
	old := dialTCP("e1")
	status := make(chan StatusReply, 1)
	go func() { status <- s.Status(context.Background(), "e1", 10*time.Second) }()
	old.reply(soon(t, old.in).Id, statusOf("e1", "n"))
	wantEqual(t, "node", nodeOf(t, soon(t, status)), "n")
	old.send(ping())
	soon(t, old.pongs)

	young := dialTCP("e1") // what it is told last isn't eaten by a reset
	if m := soon(t, old.in); m.GetGoAway().GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED {
		t.Fatalf("got %v", m)
	}
	old.send(ping())
	if m, open := <-old.in; open {
		t.Fatalf("got %v after the last word", m)
	}

	command := make(chan CommandReply, 1)
	go func() { command <- s.Command(context.Background(), commandFor("e1")) }()
	m := soon(t, young.in)
	bad := dialTCP("e2")
	bad.write([]byte{0xff, 0xff, 0xff, 0xff}) // a length of 4 GiB
	if m := soon(t, bad.in); m.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT {
		t.Fatalf("got %v", m)
	}

	s.stopFront()
	drained := make(chan struct{})
	go func() { defer close(drained); s.Drain(context.Background()) }()
	if m := soon(t, young.in); m.GetGoAway().GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN {
		t.Fatalf("got %v", m)
	}
	young.reply(m.Id, outcomeOf(m.GetEdgeCommandRequest().CommandId, outcomeSucceeded))
	wantReply(t, soon(t, command), wire.Code(""), Succeeded)
	for range young.in {
	}
	for _, f := range []*fakeEdge{old, young, bad} {
		f.conn.Close()
	}
	soon(t, drained)
}
