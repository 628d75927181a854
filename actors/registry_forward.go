package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"iop/wire"
)

// What goes through the registry because it knows who owns an id: requests on their way to the owner, and what the owner says.

// passOn gives events and operations what the owner of an id said. What an older connection says is dropped here, whatever it
// is; an answer that is dropped leaves its command lost, and a late one, which matched nothing, is counted.
func (r *registry) passOn(ctx actor.Context, m *said) {
	if !r.table.owns(m.edgeID, m.token) {
		switch {
		case m.answer == nil:
		case m.answer.late:
			r.sys.counters.unmatched.Add(1)
		default:
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

// reach finds the connection that owns an id, or why it can't be asked; the View is then what is known of the Edge, if anything is.
func (r *registry) reach(edgeID string) (*View, *wire.Fault) {
	v, _ := r.table.views.Get(edgeID)
	switch {
	case r.draining:
		return v, faultShuttingDown
	case v == nil:
		return nil, faultEdgeNotFound
	case !v.Connected:
		return v, faultDisconnected
	}
	return v, nil
}

func (r *registry) forwardStatus(ctx actor.Context, m *statusAsk) {
	v, fault := r.reach(m.edgeID)
	if fault != nil {
		m.to.deliver(StatusReply{View: v, Fault: fault})
		return
	}
	ctx.Forward(v.pid)
}

func (r *registry) forwardCommand(ctx actor.Context, m *dispatch) {
	v, fault := r.reach(m.edgeID)
	if fault != nil {
		ctx.Send(r.sys.operations, &commandRefused{m.operationID, fault})
		return
	}
	ctx.Forward(v.pid)
}

func (r *registry) forwardQuery(ctx actor.Context, m *queryCommands) {
	if v := r.table.owner(m.edgeID); v != nil {
		ctx.Forward(v.pid)
	} else {
		ctx.Send(r.sys.operations, &notAsked{m.edgeID})
	}
}
