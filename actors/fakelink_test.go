package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// fakeLink is a Link whose answers are the test's: a connection's actor doesn't care how its socket is written to.
type fakeLink struct {
	result   wire.SendResult
	withdraw bool
	panics   any // what Send panics with, or nil
	events   *linkEvents
	done     chan struct{}
}

func (l *fakeLink) Send(_ *iopv1.Envelope, tag string) wire.SendResult {
	if l.panics != nil {
		panic(l.panics)
	}
	if l.result == wire.Sent && tag != "" {
		l.events.FrameBegun(tag)
	}
	return l.result
}

func (l *fakeLink) SendControl(e *iopv1.Envelope) wire.SendResult { return l.Send(e, "") }

func (l *fakeLink) OverTLS() bool                    { return false }
func (l *fakeLink) PeerDNSNames() []string           { return nil }
func (l *fakeLink) PeerEnded() bool                  { return false }
func (l *fakeLink) SendFrame([]byte) wire.SendResult { return l.result }
func (l *fakeLink) Finish()                          { l.Abort() }
func (l *fakeLink) Done() <-chan struct{}            { return l.done }

// Withdraw fails as it does when the writer has just begun the frame.
func (l *fakeLink) Withdraw(tag string) bool {
	if !l.withdraw {
		l.events.FrameBegun(tag)
	}
	return l.withdraw
}

func (l *fakeLink) Ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (l *fakeLink) Abort() {
	if !l.Ended() {
		close(l.done)
	}
}

// connectLink makes a connection without a socket: a real actor, granted its id by the real registry. Whoever reads for
// it is the test.
func connectLink(t *testing.T, s *System, id string, link *fakeLink) (*actor.PID, *credit) {
	t.Helper()
	e, ready := claimLink(s, hello(id), link)
	select {
	case <-ready:
	default:
		t.Fatal("the claim wasn't granted")
	}
	return e.pid, &e.credit
}

// claimLink is connectLink up to the claim; ready is told when it was granted.
func claimLink(s *System, h *iopv1.EdgeHelloRequest, link *fakeLink) (e *edge, ready pause) {
	ready = newPause()
	e = newEdge(s)
	e.link, e.pulse, e.credit.reader = link, &Pulse{}, ready
	e.phase, e.edgeID = claiming, h.EdgeId
	e.greeting = &greeting{arrived: true, timer: time.NewTimer(time.Hour)}
	e.pending.limit = s.opts.MaxInFlight
	e.pulse.lastSeen.Store(s.clock.mono())
	pid := s.root().Spawn(shortProps(func() actor.Actor { return e }))
	e.pid, link.events = pid, &e.linkEvents
	s.root().Send(s.registry, &claimAsk{pid: pid, hello: h, pulse: e.pulse, gone: link.PeerEnded})
	synctest.Wait()
	return e, ready
}

func (l *fakeLink) SendPong(uint64, *timestamppb.Timestamp, time.Time, time.Duration) wire.SendResult {
	return l.result
}
