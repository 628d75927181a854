package actors

import (
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// full is an Edge that doesn't read, and whose queue has no room for one more frame: the hello's answer stands in its link, and a
// question about its status waits behind it. Once it reads, skipToLast passes over both.
func full(t *testing.T, s *System, h *iopv1.EdgeHelloRequest) *fakeEdge {
	f := dialMute(t, s)
	f.send(helloEnvelope(h))
	f.beat(15 * time.Second)
	synctest.Wait()
	askStatus(s, h.EdgeId, time.Minute)
	wantFault(t, (<-askStatus(s, h.EdgeId, time.Minute)).Fault, faultBusy.Code)
	return f
}

func (f *fakeEdge) skipToLast() {
	go f.pump()
	f.next()
	f.next()
}

func smallQueue(opts Options) Options {
	opts.Link.MaxQueueFrames = 1
	return opts
}

// The last word reaches an Edge that is slow to read, and tells it whether and when to come back.
func TestLastWordBehindAFullQueue(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *System, f *fakeEdge)
		last func(f *fakeEdge)
	}{
		"taken over": {
			func(t *testing.T, s *System, _ *fakeEdge) { connect(t, s, "e1") },
			func(f *fakeEdge) { f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED) },
		},
		"shutdown": {
			func(_ *testing.T, s *System, _ *fakeEdge) { drainFor(s, 5*time.Second) },
			func(f *fakeEdge) { f.toldToGo(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN) },
		},
		"a broken frame": {
			func(_ *testing.T, _ *System, f *fakeEdge) { f.write([]byte{0, 0, 0, 0}) },
			func(f *fakeEdge) { f.refusedWith(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, smallQueue(testOptions()), func(t *testing.T, s *System) {
				f := full(t, s, hello("e1"))
				c.end(t, s, f)
				synctest.Wait()
				f.skipToLast()
				c.last(f)
			})
		})
	}
}

// An owner that is slow to read has its Ping, and so its say, when another instance claims its id.
func TestAnOwnerWithAFullQueueIsAsked(t *testing.T) {
	bubble(t, smallQueue(rejecting()), func(t *testing.T, s *System) {
		owner := full(t, s, helloOf("e1", "a"))
		claimant := dial(t, s)
		claimant.send(helloEnvelope(helloOf("e1", "b")))
		time.Sleep(time.Second)
		owner.skipToLast()
		owner.reply(owner.request().Id, &iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
		claimant.refusedWith(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)
	})
}
