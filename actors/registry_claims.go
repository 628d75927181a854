package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"iop/wire"
)

// Who gets an id: the table decides, and here is what follows from it for the claimants, the older owner and all who are told.

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

// claim decides a claim. silent is the owner that was asked for a sign of life on its behalf and gave none, or 0.
func (r *registry) claim(ctx actor.Context, m *claimAsk, silent Token) {
	if r.draining {
		ctx.Send(m.pid, &decided{noRoom: "the Control Plane is stopping"})
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
		ctx.Send(m.pid, &decided{noRoom: "there is no room for another Edge"})
	default:
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
		if v.conflict {
			r.publish(ctx, &Event{EdgeID: id, Kind: EdgeConflict, Message: conflictSentence(v)})
		}
		ctx.Send(v.superseded.pid, &superseded{view: v.granted}) // behind the events: what it then loses has its own
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
		ctx.Send(m.pid, &decided{noRoom: "too many claims of its id wait for the present owner"})
		return
	}
	p.claims = append(p.claims, m)
}

// withdrawClaim is for a claimant whose link ended while its claim waited: it must not take the place of a living owner.
func (r *registry) withdrawClaim(ctx actor.Context, m *claimWithdrawn) {
	for _, p := range r.probes {
		p.claims = slices.DeleteFunc(p.claims, func(c *claimAsk) bool { return c.pid == m.pid })
	}
	if v := r.table.owner(m.stopped); v != nil && v.pid.Equal(m.pid) {
		r.release(ctx, &ended{pid: m.pid, edgeID: m.stopped, token: v.token, reason: ConnectionClosed})
	}
	ctx.Send(m.pid, &claimGone{})
}

func (r *registry) ownerLives(ctx actor.Context, owner Token) {
	for _, m := range r.claimsOn(owner) {
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
