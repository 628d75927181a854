package actors

import (
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// How a connection ends: superseded, asked to go, silent, refused, its link gone, or its actor panicked. Whatever it is, the registry is
// told once, and whoever waits is told after that.

// superseded: whatever this connection still hears or says, the id is another's.
func (e *edge) superseded(ctx actor.Context, view *View) {
	if e.phase == closing {
		return
	}
	e.takeBackAll(ctx) // for the newer connection to carry
	e.link.SendControl(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED, "a newer connection claimed this edge_id", 0))
	e.link.Finish()
	e.phase, e.reason = closing, ConnectionClosed
	e.failPending(ctx, StatusReply{View: view, Fault: faultSuperseded})
	e.tellEnd(ctx)
}

func (e *edge) goAway(ctx actor.Context, m *goAway) {
	if e.phase == closing {
		return
	}
	if e.phase == awaiting && e.link.OverTLS() { // its handshake may be under way, behind which a last word would wait for seconds
		e.end(ctx, Shutdown)
		return
	}
	e.link.SendControl(goAwayEnvelope(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, "the Control Plane is stopping", m.reconnectAfter))
	if e.serves() {
		e.phase = draining
		e.drain(ctx)
		return
	}
	e.link.Finish()
	e.end(ctx, Shutdown)
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

// refuse says no as the last word of this connection.
func (e *edge) refuse(ctx actor.Context, f *wire.Fault, replyTo uint64) {
	e.takeBackAll(ctx)
	e.link.SendControl(f.Envelope(replyTo))
	e.link.Finish()
	e.end(ctx, ProtocolError)
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
	if !e.link.Ended() {
		e.link.Abort()
	}
	if e.greeting != nil {
		e.greeting.timer.Stop()
	}
	waiting := e.phase == claiming && !e.freed
	e.phase, e.reason = closing, reason
	switch {
	case waiting: // decided comes, and says whether there is an ownership to end; or claimGone
		ctx.Send(e.sys.registry, &claimWithdrawn{pid: ctx.Self()})
	case e.token == 0:
		e.freed = true
		e.stopIfDone(ctx)
	default:
		e.tellEnd(ctx)
	}
}

// tellEnd tells the registry, and then gives the commands that met a link which had already ended back to operations.
func (e *edge) tellEnd(ctx actor.Context) {
	ctx.Send(e.sys.registry, &ended{pid: ctx.Self(), edgeID: e.edgeID, token: e.token, reason: e.reason})
	for _, operationID := range e.unsent {
		ctx.Send(e.sys.operations, &commandWithdrawn{operationID})
	}
	e.unsent = nil
}

// released: the registry has recorded the end, so that the callers who still wait can be told of it.
func (e *edge) released(ctx actor.Context, view *View) {
	e.freed = true
	e.failPending(ctx, StatusReply{View: view, Fault: faultLost})
	e.stopIfDone(ctx)
}

// stopIfDone lets go of the snapshot first: the library's list of children keeps the PIDs of actors that have stopped, and what they
// lead to, in places that the next ones take. The reader's last call was LinkClosed, and no message is taken after Stop.
func (e *edge) stopIfDone(ctx actor.Context) {
	if e.gone && e.freed {
		e.link, e.pulse = nil, nil
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

// stopping runs after a second panic, too: the link is cut, and nobody in the table waits in vain.
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
	switch {
	case e.freed:
	case e.phase == claiming && e.token == 0: // else it would own an id, and nobody would serve it
		ctx.Send(e.sys.registry, &claimWithdrawn{ctx.Self(), e.edgeID})
	case e.token != 0:
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
