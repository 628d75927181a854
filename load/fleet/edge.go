package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/load/ledger"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// edge is one simulated Edge. Only its shard's loop touches it, but for pause.
type edge struct {
	shard   *shard
	number  int
	clone   bool
	gone    bool          // a clone whose time is over
	twin    *edge         // the other one with this id, if there is a clone
	ownFrom time.Duration // no clone takes its id from then on
	id      string

	state     state
	life      uint32 // grows with each connection and each end of one, from 1; timers of an earlier life are skipped
	link      *wire.TCPLink
	partial   []byte // of a frame that isn't whole yet
	been      bool   // connected before
	failures  uint   // tries in a row
	sentAway  bool
	notBefore time.Duration // as a GoAway asked

	interval time.Duration // of the heartbeats
	beatAt   time.Duration // the next one
	heard    time.Duration // the last frame
	skew     time.Duration // the server's clock minus this one's
	said     uint64        // node events
	since    uint64        // the first of those that were said on this link, one behind the other; 0: the next one

	behaviour Behaviour
	delay     time.Duration // of what it does late
	pause     atomic.Int64  // nanoseconds before each read
}

type state uint8

const (
	away     state = iota // not connected, and waiting for its time or its turn
	greeting              // the hello is sent
	serving
)

const helloTimeout = 10 * time.Second

func newEdge(s *shard, number int, clone bool) *edge {
	return &edge{shard: s, number: number, clone: clone, id: ledger.EdgeID(s.f.opts.IDPrefix, number), life: 1}
}

// after sets a timer of this life.
func (e *edge) after(d time.Duration, kind timerKind) (at time.Duration) {
	at = e.shard.f.now() + d
	e.shard.timers.push(timer{at: at, e: e, life: e.life, kind: kind})
	return at
}

// later does something whatever becomes of the link meanwhile.
func (e *edge) later(d time.Duration, do func()) (at time.Duration) {
	at = e.shard.f.now() + d
	e.shard.timers.push(timer{at: at, e: e, kind: doThis, do: do})
	return at
}

// queueDial takes a place in the dialers' queue, which has room for all.
func (e *edge) queueDial() {
	if !e.shard.closing && !e.gone {
		e.shard.f.dials <- e
	}
}

func (e *edge) dialFailed(err error) {
	e.trouble("dial: " + dialKind(err))
	e.failures++
	e.retry()
}

func dialKind(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.EMFILE):
		return "no descriptors left"
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EADDRINUSE):
		return "no ports left"
	}
	return "failed"
}

// retry waits with full jitter, and at least as long as a GoAway asked.
func (e *edge) retry() {
	o := &e.shard.f.opts
	wait := min(o.Reconnect<<min(e.failures, 16), o.ReconnectMax)
	if wait > 0 {
		wait = rand.N(wait)
	}
	e.after(max(wait, e.notBefore-e.shard.f.now()), dialNow)
}

func (e *edge) dialled(link *wire.TCPLink) {
	if e.shard.closing || e.gone {
		link.Abort()
		return
	}
	if e.link != nil { // given up, but not closed: the new one will take its place
		e.offline()
	}
	e.life++
	e.link, e.partial, e.state, e.notBefore = link, nil, greeting, 0
	e.sentAway = false
	e.heard = e.shard.f.now()
	e.after(helloTimeout, helloOverdue)
	e.send(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: &iopv1.EdgeHelloRequest{
		EdgeId: e.id, Name: "simulated", Version: "load", ProtocolVersion: wire.ProtocolVersion, Token: e.shard.f.opts.Token,
		Labels: map[string]string{"load": "true"}, Operations: []string{OperationQuick, OperationPhased},
		StartedAt: timestamppb.New(e.shard.f.began), InstanceId: e.instance(),
	}}})
}

func (e *edge) instance() string { return fmt.Sprintf("%s-%d-%t", e.shard.f.run, e.number, e.clone) }

// welcome: the hello was accepted.
func (e *edge) welcome(hello *iopv1.EdgeHelloResponse) {
	f, now := e.shard.f, e.shard.f.now()
	e.state, e.failures = serving, 0
	if f.links[e.number].Add(1) == 1 {
		if f.stats.connected.Add(1) == int64(f.opts.Count) {
			f.stats.fullAt.Store(int64(now))
			f.stats.firstFullAt.CompareAndSwap(0, int64(now))
		}
	}
	f.stats.hellos.Add(1)
	if e.been {
		f.stats.reconnects.Add(1)
	}
	e.been, e.since = true, 0
	e.settle()
	if at := hello.ServerTime; at.IsValid() {
		e.skew = time.Until(at.AsTime())
	}
	e.interval = max(hello.HeartbeatInterval.AsDuration(), time.Second)
	e.beat(rand.N(e.interval)) // a fleet that came at once need not beat at once
	e.push()
	e.nextChange()
}

func (e *edge) beat(in time.Duration) { e.beatAt = e.after(in, heartbeatDue) }

// offline: the link is no longer this Edge's, whatever becomes of it.
func (e *edge) offline() {
	if e.state == serving {
		if e.shard.f.links[e.number].Add(-1) == 0 {
			e.shard.f.stats.connected.Add(-1)
		}
		e.shard.f.opts.Ledger.Cut(e.number)
	}
	e.life++
	e.link, e.partial, e.state = nil, nil, away
}

// linkEnded: the peer or this side has closed it.
func (e *edge) linkEnded() {
	before := e.state
	e.offline()
	switch {
	case e.shard.closing, e.behaviour == Mute: // one that hangs comes back when its time is over
		return
	case before == greeting:
		e.trouble("ended before the hello's answer")
		e.failures++
	case before == serving && !e.sentAway:
		e.trouble("ended by the peer")
	}
	e.retry()
}

// trouble counts what went wrong, unless this run made it: an Edge that was never connected has no such excuse.
func (e *edge) trouble(kind string) {
	if _, calm := e.shard.f.Calm(e.number); calm || !e.been && !e.clone {
		e.shard.f.stats.trouble(kind)
	}
}

// leave says goodbye and lets the peer close.
func (e *edge) leave() {
	if e.link == nil {
		return
	}
	if e.state == serving {
		e.send(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING}}})
	}
	link := e.link
	e.offline()
	link.Finish()
}

// resetLink ends the link with RST.
func (e *edge) resetLink() {
	if e.link == nil {
		return
	}
	link := e.link
	e.offline()
	link.Reset()
	e.retry()
}

func (e *edge) send(m *iopv1.Envelope) {
	if e.link == nil {
		return
	}
	if e.link.Send(m, "") == wire.Full {
		e.trouble("the peer doesn't read")
		e.link.Abort()
	}
}
