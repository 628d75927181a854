package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"iop/wire"
)

// registry owns edge_id → who holds it, and is the parent of every Edge connection. What it decides is in table; it
// carries the decisions out.
type registry struct {
	sys   *System
	table *table

	probes map[Token]*probe // by the owner that is asked

	draining bool
	sweeping *time.Timer
}

// probe is a Ping to an owner whose id another instance claims (duplicate_policy: reject). However many claims wait for
// its answer, at most maxWaitingClaims, it is asked once.
type probe struct {
	owner  Token
	claims []*claimAsk
}

// ownerProbeTime is how long an owner has to answer the Ping of a claim by another instance.
const ownerProbeTime = 3 * time.Second

// maxWaitingClaims is how many claims of one id wait for its owner; further ones are turned away for now. Each holds a whole
// hello, and all are decided anew with each new owner.
const maxWaitingClaims = 8

func newRegistry(sys *System) *registry {
	return &registry{sys: sys, table: newTable(sys.opts.Table), probes: map[Token]*probe{}}
}

func (r *registry) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.scheduleSweep(ctx)
	case *actor.Stopping:
		r.sweeping.Stop()
	case *accepted:
		r.accept(ctx, m)
	case *claimAsk:
		r.claim(ctx, m, 0)
	case *claimWithdrawn:
		r.withdrawClaim(ctx, m)
	case *ownerAnswered:
		r.ownerLives(ctx, m.token)
	case *probeEnded:
		r.endProbe(ctx, m)
	case *ended:
		r.release(ctx, m)
	case *said:
		r.passOn(ctx, m)
	case *fleetAsk:
		m.to <- r.table.views.Copy()
	case *statusAsk:
		r.forwardStatus(ctx, m)
	case *dispatch:
		r.forwardCommand(ctx, m)
	case *queryCommands:
		r.forwardQuery(ctx, m)
	case *sweepDue:
		r.sweep(ctx)
	case *connectionsAsk:
		m.to <- len(ctx.Children())
	case *drain:
		r.drain(ctx, m)
	}
}

func (r *registry) accept(ctx actor.Context, m *accepted) {
	if r.draining {
		m.discard()
		r.sys.arrived()
		return
	}
	ctx.Send(ctx.Spawn(r.sys.edgeProps), &start{m.newcomer})
}

// claim decides a claim. silent is the owner that was asked for a sign of life on its behalf and gave none, or 0.
func (r *registry) claim(ctx actor.Context, m *claimAsk, silent Token) {
	if r.draining {
		ctx.Send(m.pid, &decided{turnAway: r.sys.turnAway()})
		return
	}
	now := time.Now()
	v := r.table.decide(claim{hello: m.hello, pid: m.pid, pulse: m.pulse, silentOwner: silent}, now)
	switch {
	case v.granted != nil:
		r.granted(ctx, m, v)
	case v.askOwner != nil:
		r.askOwner(ctx, m, v.askOwner)
	case v.overloaded:
		r.turnAway(ctx, m, "there is no room for another Edge")
	default:
		r.sys.refused(m.hello.EdgeId, string(v.fault.Code), v.fault.Message)
		ctx.Send(m.pid, &decided{fault: v.fault})
	}
}

// granted tells everybody of a new owner: the older one, the events, the operations and, last, the connection itself, so
// that what its hello is answered with is already so.
func (r *registry) granted(ctx actor.Context, m *claimAsk, v verdict) {
	id := v.granted.EdgeID
	interval := r.counted()
	m.pulse.interval.Store(int64(interval))
	m.pulse.lastSeen.Store(r.sys.clock.mono()) // it may have waited for this, and wasn't read meanwhile
	if v.superseded == nil {
		r.publish(ctx, &Event{EdgeID: id, Kind: EdgeConnected, Message: connectedSentence(v.granted)})
	} else {
		r.sys.counters.takeovers.Add(1)
		r.publish(ctx, &Event{EdgeID: id, Kind: EdgeSuperseded, Message: connectedSentence(v.granted)})
		ctx.Send(v.superseded.pid, &superseded{view: v.granted})
	}
	if v.conflict {
		r.publish(ctx, &Event{EdgeID: id, Kind: EdgeConflict, Message: conflictSentence(v)})
	}
	ctx.Send(m.pid, &decided{token: v.granted.token, interval: interval})
	ctx.Send(r.sys.operations, &edgeBack{edgeID: id, token: v.granted.token})
	if v.superseded != nil {
		r.reconsiderClaims(ctx, v.superseded.token)
	}
}

// counted tells everybody how many Edges are connected now, and gives the heartbeat interval that follows from it.
func (r *registry) counted() time.Duration {
	r.sys.counters.connected.Store(int64(r.table.connected))
	interval := r.table.heartbeatInterval()
	r.sys.heartbeat.Store(int64(interval))
	return interval
}

func (r *registry) askOwner(ctx actor.Context, m *claimAsk, owner *View) {
	p := r.probes[owner.token]
	if p == nil {
		p = &probe{owner: owner.token}
		r.probes[owner.token] = p
		ctx.Send(owner.pid, &probeOwner{deadline: r.sys.clock.mono() + int64(ownerProbeTime)})
		r.sys.after(ownerProbeTime, ctx.Self(), &probeEnded{p})
	}
	if len(p.claims) == maxWaitingClaims {
		r.turnAway(ctx, m, "too many claims of its id wait for the present owner")
		return
	}
	p.claims = append(p.claims, m)
}

func (r *registry) turnAway(ctx actor.Context, m *claimAsk, why string) {
	r.sys.refused(m.hello.EdgeId, overloaded, why)
	ctx.Send(m.pid, &decided{turnAway: r.sys.turnAway()})
}

// withdrawClaim is for a claimant whose link ended while its claim waited: it must not take the place of a living owner.
func (r *registry) withdrawClaim(ctx actor.Context, m *claimWithdrawn) {
	for _, p := range r.probes {
		p.claims = slices.DeleteFunc(p.claims, func(c *claimAsk) bool { return c.pid == m.pid })
	}
	ctx.Send(m.pid, &claimGone{})
}

func (r *registry) ownerLives(ctx actor.Context, owner Token) {
	for _, m := range r.claimsOn(owner) {
		r.sys.refused(m.hello.EdgeId, string(faultOwned.Code), faultOwned.Message)
		ctx.Send(m.pid, &decided{fault: faultOwned})
	}
}

var faultOwned = &wire.Fault{Code: wire.FailedPrecondition, Message: "another instance with this edge_id is connected and alive"}

// endProbe is the end of an owner's time to answer, unless it has answered, or another probe of it has begun.
func (r *registry) endProbe(ctx actor.Context, m *probeEnded) {
	if r.probes[m.probe.owner] == m.probe {
		r.reconsiderClaims(ctx, m.probe.owner)
	}
}

// reconsiderClaims decides anew, in order, the claims that waited for this owner: it had its chance, or is gone. Who owns the
// id by now, one of them perhaps, has not, and is asked in turn.
func (r *registry) reconsiderClaims(ctx actor.Context, owner Token) {
	for _, m := range r.claimsOn(owner) {
		if m.gone() { // it would take the place of an owner that was silent for a moment, and leave nobody
			ctx.Send(m.pid, &decided{fault: faultOwned})
			continue
		}
		r.claim(ctx, m, owner)
	}
}

func (r *registry) claimsOn(owner Token) []*claimAsk {
	p := r.probes[owner]
	if p == nil {
		return nil
	}
	delete(r.probes, owner)
	return p.claims
}

func (r *registry) release(ctx actor.Context, m *ended) {
	if v := r.table.release(m.edgeID, m.token, m.reason, time.Now()); v != nil {
		r.counted()
		r.publish(ctx, &Event{EdgeID: m.edgeID, Kind: EdgeDisconnected, Message: string(m.reason)})
		r.forget(ctx)
		r.reconsiderClaims(ctx, m.token)
	}
	v, _ := r.table.views.Get(m.edgeID)
	ctx.Send(m.pid, &released{view: v})
}

// passOn gives events and operations what the owner of an id said. What an older connection says is dropped here, whatever it
// is; an answer that is dropped leaves its command lost.
func (r *registry) passOn(ctx actor.Context, m *said) {
	if !r.table.owns(m.edgeID, m.token) {
		if m.answer != nil && !m.answer.late {
			ctx.Send(r.sys.operations, &commandsLost{token: m.token, ids: []string{m.answer.operationID}})
		}
		m.credit.giveBack()
		return
	}
	if m.event != nil {
		ctx.Send(r.sys.operations, &publish{event: m.event, credit: m.credit})
		return
	}
	ctx.Send(r.sys.operations, m)
}

func (r *registry) forwardStatus(ctx actor.Context, m *statusAsk) {
	v, _ := r.table.views.Get(m.edgeID)
	switch {
	case r.draining:
		m.to.deliver(StatusReply{View: v, Fault: faultShuttingDown})
	case v == nil:
		m.to.deliver(StatusReply{Fault: faultEdgeNotFound})
	case !v.Connected:
		m.to.deliver(StatusReply{View: v, Fault: faultDisconnected})
	default:
		ctx.Forward(v.pid)
	}
}

func (r *registry) forwardCommand(ctx actor.Context, m *dispatch) {
	v, _ := r.table.views.Get(m.edgeID)
	switch {
	case r.draining:
		ctx.Send(r.sys.operations, &commandRefused{m.operationID, faultShuttingDown})
	case v == nil:
		ctx.Send(r.sys.operations, &commandRefused{m.operationID, faultEdgeNotFound})
	case !v.Connected:
		ctx.Send(r.sys.operations, &commandRefused{m.operationID, faultDisconnected})
	default:
		ctx.Forward(v.pid)
	}
}

func (r *registry) forwardQuery(ctx actor.Context, m *queryCommands) {
	if v := r.table.owner(m.edgeID); v != nil {
		ctx.Forward(v.pid)
	}
}

// publish takes the way that every event takes, by operations, so that all are listed as they came about.
func (r *registry) publish(ctx actor.Context, e *Event) {
	ctx.Send(r.sys.operations, &publish{event: e})
}

// sweep looks for silent Edges in a copy of the views, beside the registry; the Edge's own actor looks again.
func (r *registry) sweep(ctx actor.Context) {
	r.sys.counters.registry.handled(r.sys.clock.mono())
	r.forget(ctx)
	r.table.forgetTakings(time.Now())
	views, now, root := r.table.views.Copy(), r.sys.clock.mono(), r.sys.root()
	go func() {
		views.Scan(func(_ string, v *View) bool {
			if v.Connected && v.Pulse.silentFor(now) {
				root.Send(v.pid, &silent{})
			}
			return true
		})
	}()
	r.scheduleSweep(ctx)
}

func (r *registry) scheduleSweep(ctx actor.Context) {
	every := min(max(r.table.opts.HeartbeatInterval/8, 20*time.Millisecond), 2*time.Second)
	r.sys.counters.registry.due(r.sys.clock.mono() + int64(every))
	r.sweeping = r.sys.after(every, ctx.Self(), &sweepDue{})
}

func (r *registry) forget(ctx actor.Context) {
	for _, id := range r.table.expire(time.Now()) {
		ctx.Send(r.sys.operations, &edgeForgotten{edgeID: id})
	}
}

// drain says GoAway to every connection, with reconnects spread evenly over what a fleet of this size needs.
func (r *registry) drain(ctx actor.Context, m *drain) {
	r.draining = true
	children := ctx.Children()
	window := max(time.Second, time.Duration(len(children))*time.Millisecond)
	for i, pid := range children {
		ctx.Send(pid, &goAway{reconnectAfter: window * time.Duration(i+1) / time.Duration(len(children))})
	}
	close(m.done)
}

func connectedSentence(v *View) string {
	if v.Version == "" {
		return ""
	}
	return "version " + v.Version
}
