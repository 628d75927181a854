package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
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
		m.to <- &Fleet{views: r.table.views.Copy(), connected: r.table.connected}
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
	pid := ctx.Spawn(r.sys.edgeProps)
	ctx.Send(pid, &start{m.newcomer})
	if r.draining { // it was on its way here when its front closed
		ctx.Send(pid, &goAway{reconnectAfter: lateReconnect})
	}
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

// lateReconnect is what the few are told who come after a drain.
const lateReconnect = time.Second

// drain says GoAway to every connection, with reconnects spread evenly over what a fleet of this size needs.
func (r *registry) drain(ctx actor.Context, m *drain) {
	r.draining = true
	children := ctx.Children()
	for i, pid := range children {
		ctx.Send(pid, &goAway{reconnectAfter: reconnectAfter(i, len(children))})
	}
	close(m.done)
}

// reconnectAfter is when the i-th of n connections may dial again: at most 1,000 do in a second, and few are spread over a whole one.
func reconnectAfter(i, n int) time.Duration {
	apart := max(time.Second/time.Duration(n), time.Millisecond)
	return apart * time.Duration(i+1)
}

func connectedSentence(v *View) string {
	if v.Version == "" {
		return ""
	}
	return "version " + v.Version
}
