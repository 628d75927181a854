package actors

import (
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// edge is one Edge's connection: it says hello, claims the id, carries requests to the peer and answers back. It
// doesn't know who reads its socket or how it is written to: frames come as messages and go to the link.
type edge struct {
	// reader is embedded to be one allocation with the actor. Both use its sys, pid, edgeID, link and pulse, its credit, which is
	// atomic, and its token, which is set before there is a tagged frame; helloTaken is the reader's alone.
	reader

	phase   phase
	reason  Reason // why it ends; the first one stays
	leaving bool   // the Edge said goodbye: no more commands
	gone    bool   // the socket is closed and its reader ended
	freed   bool   // the registry forwards nothing more

	pending pending
	queued  map[string]uint64 // operations whose frame waits in the link, and their requests
	unsent  []string          // operations that met a link which had just ended

	// Only until the claim is decided.
	greeting *greeting
}

type greeting struct {
	helloID uint64
	arrived bool // no longer counts among those that have said nothing
	timer   *time.Timer
}

type phase int

const (
	awaiting phase = iota // the hello
	claiming              // the registry is asked
	serving               // owns the id
	draining              // owns the id, answers what is pending, then ends
	closing               // serves no more
)

// claimTime is how long a claim may take to be decided: more than the present owner's time to answer a Ping, and an end
// for one that the registry lost.
const claimTime = ownerProbeTime + answerTime

// turnAwayTime is how long at least an Edge for whom there is no room, or no time, is to stay away; at most twice that.
const turnAwayTime = 5 * time.Second

// queryTime is how long a returned Edge has to say what became of its commands.
const queryTime = 30 * time.Second

func newEdge(s *System) *edge {
	e := &edge{}
	e.sys = s
	return e
}

func (e *edge) Receive(ctx actor.Context) {
	defer e.survive(ctx)
	switch m := ctx.Message().(type) {
	case *start:
		e.start(ctx, m.newcomer)
	case *helloRead:
		e.hello(ctx, m)
	case *decided:
		e.decided(ctx, m)
	case *iopv1.Envelope:
		e.envelope(ctx, m, nil)
	case *statusRead:
		e.envelope(ctx, m.envelope, m.snapshot)
	case *statusAsk:
		e.askStatus(ctx, m)
	case *dispatch:
		e.command(ctx, m)
	case *withdraw:
		e.withdraw(ctx, m.operationID)
	case *queryCommands:
		e.query(ctx, m)
	case *probeOwner:
		e.ping(m)
	case *frameBegun:
		delete(e.queued, m.operationID)
	case *claimGone:
		e.claimGone(ctx)
	case *superseded:
		e.superseded(ctx, m.view)
	case *goAway:
		e.goAway(ctx, m)
	case *greetingDue:
		e.greetingDue(ctx, m.phase)
	case *drainDue:
		e.drain(ctx)
	case *silent:
		e.silent(ctx)
	case *stalled:
		e.end(ctx, WriteTimeout)
	case *linkFault:
		e.unreadable(ctx, m.fault)
	case *linkEnded:
		e.linkEnded(ctx)
	case *released:
		e.released(ctx, m.view)
	case *actor.Stopping:
		e.stopping(ctx)
	}
}

func (e *edge) start(ctx actor.Context, n newcomer) {
	e.pid = ctx.Self()
	e.pulse = &Pulse{}
	e.pulse.lastSeen.Store(e.sys.clock.mono())
	e.pending.limit, e.pending.lastID = e.sys.opts.MaxInFlight, rand.Uint64N(1<<40)
	e.greeting = &greeting{}
	e.within(ctx, e.sys.opts.HelloTimeout)
	if n.polled != nil {
		e.link, e.credit.reader = n.polled, n.polled
		n.polled.Start(&e.reader)
		return
	}
	link, p := wire.NewTCPLink(n.conn, &e.sys.opts.Link, &e.reader), newPause()
	e.link, e.credit.reader = link, p
	go e.reader.run(n.conn, link, p)
}

// within bounds the phase of the greeting that begins now.
func (e *edge) within(ctx actor.Context, d time.Duration) {
	if e.greeting.timer != nil {
		e.greeting.timer.Stop()
	}
	e.greeting.timer = e.sys.after(d, ctx.Self(), &greetingDue{e.phase})
}

// greetingDue cuts a peer that is silent, and sends away one whose claim nobody decides in time.
func (e *edge) greetingDue(ctx actor.Context, p phase) {
	switch {
	case p != e.phase:
	case p == claiming:
		e.turnAway(ctx, "nobody decided its claim in time")
	default:
		e.link.Abort()
	}
}

func (e *edge) hello(ctx actor.Context, m *helloRead) {
	e.arrived()
	if e.phase != awaiting {
		return
	}
	h := m.envelope.GetEdgeHelloRequest()
	e.greeting.helloID = m.envelope.Id
	fault := faultHelloFirst
	if h != nil && m.envelope.ReplyTo == 0 {
		if fault = checkHello(h); fault == nil {
			fault = e.sys.Keys().admitEdge(h.EdgeId, h.Token, m.certNames)
		}
	}
	if fault != nil {
		e.refuseHello(ctx, fault)
		return
	}
	h.Token = "" // known to be good; nothing keeps it
	e.phase = claiming
	e.within(ctx, claimTime)
	ctx.Send(e.sys.registry, &claimAsk{pid: ctx.Self(), hello: h, pulse: e.pulse, gone: e.link.PeerEnded})
}

func (e *edge) decided(ctx actor.Context, m *decided) {
	e.token, e.freed = m.token, m.token == 0 // and so the link knows it, before there is a tagged frame
	switch {
	case m.token != 0 && e.phase == closing: // the link ended while the claim was on its way
		e.tellEnd(ctx)
	case e.phase == closing:
		e.stopIfDone(ctx)
	case m.token != 0:
		e.phase = serving
		e.welcome(m.interval)
	case m.fault != nil:
		e.refuseHello(ctx, m.fault)
	default:
		e.turnAway(ctx, m.noRoom)
	}
}

func (e *edge) refuseHello(ctx actor.Context, f *wire.Fault) {
	e.sys.refused(e.edgeID, string(f.Code), f.Message)
	e.refuse(ctx, f, e.greeting.helloID)
}

// turnAway sends an Edge away for now. When they may come back is spread, so that those who came together don't do so again.
func (e *edge) turnAway(ctx actor.Context, why string) {
	e.sys.refused(e.edgeID, overloaded, why)
	after := turnAwayTime + rand.N(turnAwayTime)
	e.link.SendControl(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED, "no room for another Edge now", after))
	e.link.Finish()
	e.end(ctx, ConnectionClosed)
}

// arrived gives back the place among the connections that have said nothing yet.
func (e *edge) arrived() {
	if e.greeting != nil && !e.greeting.arrived {
		e.greeting.arrived = true
		e.sys.arrived()
	}
}

// unreadable: where it was the first frame, nobody knows whose.
func (e *edge) unreadable(ctx actor.Context, f *wire.Fault) {
	if e.phase == awaiting {
		e.sys.refused("", string(f.Code), f.Message)
	}
	e.refuse(ctx, f, 0)
}

// claimGone frees a connection whose claim nobody decides any more. One that was granted before has a token by now.
func (e *edge) claimGone(ctx actor.Context) {
	if e.token == 0 {
		e.freed = true
		e.stopIfDone(ctx)
	}
}

// welcome answers the hello and lets the reader go on: no request can overtake the answer, and no frame is read before it.
func (e *edge) welcome(interval time.Duration) {
	e.link.Send(&iopv1.Envelope{ReplyTo: e.greeting.helloID, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{
		ServerId:          e.sys.opts.ServerID,
		ServerVersion:     e.sys.opts.Version,
		ProtocolVersion:   wire.ProtocolVersion,
		HeartbeatInterval: durationpb.New(interval),
		MaxFrameBytes:     uint32(e.sys.opts.MaxFrameBytes),
		ServerTime:        timestamppb.Now(),
	}}}, "")
	e.greeting.timer.Stop()
	e.credit.reader.Resume()
	e.greeting = nil
}

var faultHelloFirst = &wire.Fault{Code: wire.FailedPrecondition, Message: "the first frame must be an EdgeHelloRequest"}

func goAwayEnvelope(reason iopv1.GoAwayReason, message string, after time.Duration) *iopv1.Envelope {
	g := &iopv1.GoAway{Reason: reason, Message: message}
	if after > 0 {
		g.ReconnectAfter = durationpb.New(after)
	}
	return &iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: g}}
}
