package actors

import (
	"runtime/debug"
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
	reader // in one piece of memory with the actor, which shares with it what doesn't change and what is atomic

	phase   phase
	reason  Reason // why it ends; the first one stays
	leaving bool   // the Edge said goodbye: no more commands
	gone    bool   // the socket is closed and its reader ended
	freed   bool   // the registry forwards nothing more

	pending pending
	queued  map[string]uint64 // operations whose frame waits in the link, and their requests

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
	greeted  phase = iota // until the hello is here
	claiming              // the registry is asked
	serving               // owns the id
	draining              // owns the id, answers what is pending, then ends
	closing               // serves no more
)

// claimTime is how long a claim may take to be decided: more than the present owner's time to answer a Ping, and an end
// for one that the registry lost.
const claimTime = ownerProbeTime + answerTime

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
		e.ping(ctx, m)
	case *frameBegun:
		delete(e.queued, m.operationID)
	case *claimGone:
		e.claimGone(ctx)
	case *superseded:
		e.superseded(ctx, m.view)
	case *goAway:
		e.goAway(ctx, m)
	case *greetingDue:
		e.greetingDue(m.phase)
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
	e.pending.limit = e.sys.opts.MaxInFlight
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

// greetingDue cuts a peer that is silent, or whose claim nobody decides.
func (e *edge) greetingDue(p phase) {
	if p == e.phase {
		e.link.Abort()
	}
}

func (e *edge) hello(ctx actor.Context, m *helloRead) {
	e.arrived()
	if e.phase != greeted {
		return
	}
	h := m.envelope.GetEdgeHelloRequest()
	e.greeting.helloID = m.envelope.Id
	fault := faultHelloFirst
	if h != nil && m.envelope.ReplyTo == 0 {
		if fault = checkHello(h); fault == nil {
			fault = e.sys.Keys().AdmitEdge(h.EdgeId, h.Token, m.certNames)
		}
	}
	if fault != nil {
		e.sys.refused(h.GetEdgeId(), string(fault.Code), fault.Message)
		e.refuse(ctx, fault, m.envelope.Id)
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
		e.refuse(ctx, m.fault, e.greeting.helloID)
	default:
		e.link.Send(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED, "no room for another Edge now", m.turnAway), "")
		e.link.Finish()
		e.end(ctx, ConnectionClosed)
	}
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

// superseded: whatever this connection still hears or says, the id is another's.
func (e *edge) superseded(ctx actor.Context, view *View) {
	if e.phase == closing {
		return
	}
	e.takeBackAll(ctx) // for the newer connection to carry
	e.link.Send(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED, "a newer connection claimed this edge_id", 0), "")
	e.link.Finish()
	e.phase, e.reason = closing, ConnectionClosed
	e.failPending(ctx, StatusReply{View: view, Fault: faultSuperseded})
	e.tellEnd(ctx)
}

func (e *edge) goAway(ctx actor.Context, m *goAway) {
	switch e.phase {
	case closing:
		return
	case serving, draining:
		e.link.Send(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, "the Control Plane is stopping", m.reconnectAfter), "")
		e.phase = draining
		e.drain(ctx)
	default:
		e.link.Send(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, "the Control Plane is stopping", m.reconnectAfter), "")
		e.link.Finish()
		e.end(ctx, Shutdown)
	}
}

// drain ends the connection when nothing is pending, at the latest when nobody waits for it any more.
func (e *edge) drain(ctx actor.Context) {
	e.endIfDrained(ctx)
	if e.phase == draining {
		left := e.pending.lastDeadline() - e.sys.clock.mono()
		e.sys.after(time.Duration(left)+time.Millisecond, ctx.Self(), &drainDue{})
	}
}

func (e *edge) endIfDrained(ctx actor.Context) {
	if e.phase != draining {
		return
	}
	e.pending.purge(e.sys.clock.mono())
	if e.pending.counted == 0 {
		e.link.Finish()
		e.end(ctx, Shutdown)
	}
}

func (e *edge) silent(ctx actor.Context) {
	if e.phase != closing && e.pulse.silentFor(e.sys.clock.mono()) {
		e.end(ctx, HeartbeatTimeout)
	}
}

// unreadable: where it was the first frame, nobody knows whose.
func (e *edge) unreadable(ctx actor.Context, f *wire.Fault) {
	if e.phase == greeted {
		e.sys.refused("", string(f.Code), f.Message)
	}
	e.refuse(ctx, f, 0)
}

// refuse says no as the last word of this connection.
func (e *edge) refuse(ctx actor.Context, f *wire.Fault, replyTo uint64) {
	e.takeBackAll(ctx)
	e.link.Send(f.Envelope(replyTo), "")
	e.link.Finish()
	e.end(ctx, ProtocolError)
}

// arrived gives back the place among the connections that have said nothing yet.
func (e *edge) arrived() {
	if e.greeting != nil && !e.greeting.arrived {
		e.greeting.arrived = true
		e.sys.arrived()
	}
}

func (e *edge) linkEnded(ctx actor.Context) {
	e.gone = true
	e.arrived()
	reason := ConnectionClosed
	if e.phase == draining {
		reason = Shutdown
	}
	e.end(ctx, reason)
	e.stopIfDone(ctx)
}

// end makes this connection serve no more, and tells the registry. A link that wasn't finished is aborted.
func (e *edge) end(ctx actor.Context, reason Reason) {
	if e.phase == closing {
		return
	}
	if e.leaving {
		reason = Goodbye
	}
	e.takeBackAll(ctx)
	select {
	case <-e.link.Done():
	default:
		e.link.Abort()
	}
	if e.greeting != nil {
		e.greeting.timer.Stop()
	}
	waiting := e.phase == claiming && !e.freed
	e.phase, e.reason = closing, reason
	switch {
	case waiting: // decided comes, and says whether there is an ownership to end; or claimGone
		ctx.Send(e.sys.registry, &claimWithdrawn{ctx.Self()})
	case e.token == 0:
		e.freed = true
		e.stopIfDone(ctx)
	default:
		e.tellEnd(ctx)
	}
}

func (e *edge) tellEnd(ctx actor.Context) {
	ctx.Send(e.sys.registry, &ended{pid: ctx.Self(), edgeID: e.edgeID, token: e.token, reason: e.reason})
}

// released: the registry has recorded the end, so that the callers who still wait can be told of it.
func (e *edge) released(ctx actor.Context, view *View) {
	e.freed = true
	e.failPending(ctx, StatusReply{View: view, Fault: faultLost})
	e.stopIfDone(ctx)
}

func (e *edge) stopIfDone(ctx actor.Context) {
	if e.gone && e.freed {
		ctx.Stop(ctx.Self())
	}
}

// survive ends a connection whose handling of a message panicked, and only that. The actor stays until the registry
// forwards nothing more, because the library drops what a stopped one still has in its mailbox, and those who asked would
// wait out their time.
func (e *edge) survive(ctx actor.Context) {
	reason := recover()
	if reason == nil {
		return
	}
	if e.link == nil {
		panic(reason) // there is nothing to end in good order
	}
	e.sys.log.Error().Interface("reason", reason).Bytes("stack", debug.Stack()).Msg("a connection's actor panicked")
	e.link.Abort()
	e.end(ctx, ConnectionClosed) // a second panic goes to the registry, which stops the actor
	e.stopIfDone(ctx)
}

// stopping is also where a second panic leads: the link is cut, and nobody in the table waits in vain.
func (e *edge) stopping(ctx actor.Context) {
	defer func() { _ = recover() }() // a second panic here would hang the registry's own stop
	if e.link == nil {
		return
	}
	e.arrived()
	if e.greeting != nil {
		e.greeting.timer.Stop()
	}
	e.takeBackAll(ctx)
	e.link.Abort()
	if !e.freed && e.token != 0 {
		e.reason = ConnectionClosed
		e.failPending(ctx, StatusReply{Fault: faultLost})
		e.tellEnd(ctx)
	}
}

// failPending tells all who wait that their answer won't come.
func (e *edge) failPending(ctx actor.Context, reply StatusReply) {
	var lost []string
	for _, r := range e.pending.takeAll(e.sys.clock.mono()) {
		switch target := r.target.(type) {
		case *statusAsk:
			target.to.deliver(reply)
		case commandID:
			lost = append(lost, string(target))
		}
	}
	if len(lost) > 0 {
		ctx.Send(e.sys.operations, &commandsLost{token: e.token, ids: lost})
	}
}

var faultHelloFirst = &wire.Fault{Code: wire.FailedPrecondition, Message: "the first frame must be an EdgeHelloRequest"}

func goAwayEnvelope(reason iopv1.GoAwayReason, message string, after time.Duration) *iopv1.Envelope {
	g := &iopv1.GoAway{Reason: reason, Message: message}
	if after > 0 {
		g.ReconnectAfter = durationpb.New(after)
	}
	return &iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: g}}
}
