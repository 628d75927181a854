package actors

import (
	"cmp"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/durationpb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What the connection's actor asks its peer for, and for whom.

func (e *edge) serves() bool { return e.phase == serving || e.phase == draining }

func (e *edge) askStatus(ctx actor.Context, m *statusAsk) {
	if !e.serves() {
		ctx.Forward(e.sys.registry) // it knows by now who owns the id, if anybody does
		return
	}
	id, ok := e.pending.add(m, m.deadline, e.sys.clock.mono())
	if !ok {
		m.to.deliver(StatusReply{Fault: faultBusy})
		return
	}
	result := e.link.Send(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeStatusRequest{
		EdgeStatusRequest: &iopv1.EdgeStatusRequest{Timeout: durationpb.New(m.timeout)}}}, "")
	if result == wire.Full {
		e.pending.take(id, 0)
		m.to.deliver(StatusReply{Fault: faultBusy})
	}
	// Closed: the end of the link is on its way here, and fails what is pending.
}

// command writes a command to the wire, at most once, ever.
func (e *edge) command(ctx actor.Context, m *dispatch) {
	switch {
	case !e.serves():
		ctx.Forward(e.sys.registry)
		return
	case e.leaving:
		ctx.Send(e.sys.operations, &commandRefused{m.operationID, faultLeaving})
		return
	}
	now := e.sys.clock.mono()
	if now > m.deadline { // it was long on its way here, and must not run for a caller who was told that its time is up
		ctx.Send(e.sys.operations, &commandWithdrawn{m.operationID})
		return
	}
	id, ok := e.pending.add(commandID(m.operationID), m.deadline, now)
	if !ok {
		ctx.Send(e.sys.operations, &commandRefused{m.operationID, faultBusy})
		return
	}
	switch e.link.Send(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: m.request}}, m.operationID) {
	case wire.Queued:
		if e.queued == nil {
			e.queued = map[string]uint64{}
		}
		e.queued[m.operationID] = id
		ctx.Send(e.sys.operations, &commandQueued{m.operationID, ctx.Self()})
	case wire.Full:
		e.pending.take(id, 0)
		ctx.Send(e.sys.operations, &commandRefused{m.operationID, faultBusy})
	case wire.Unsendable: // it would be so on any connection
		e.pending.take(id, 0)
		ctx.Send(e.sys.operations, &commandRefused{m.operationID, faultNotUTF8})
	case wire.Closed: // its end is on its way here: what was asked meanwhile is decided by what the registry then knows
		e.pending.take(id, 0)
		e.unsent = append(e.unsent, m.operationID)
	}
}

// withdraw takes a queued command back, if it can be. One that the link is writing already counts as sent, and the link
// has said so.
func (e *edge) withdraw(ctx actor.Context, operationID string) {
	id, queued := e.queued[operationID]
	delete(e.queued, operationID)
	if queued && e.link.Withdraw(operationID) {
		e.pending.take(id, 0)
		ctx.Send(e.sys.operations, &commandWithdrawn{operationID})
	}
}

// takeBackAll is for the end of the connection: what was not begun is never written here. Another one carries it in the order in which
// it was asked for, which is that of the requests' ids.
func (e *edge) takeBackAll(ctx actor.Context) {
	byID := func(a, b string) int { return cmp.Compare(e.queued[a], e.queued[b]) }
	for _, operationID := range slices.SortedFunc(maps.Keys(e.queued), byID) {
		e.withdraw(ctx, operationID)
	}
}

func (e *edge) query(ctx actor.Context, m *queryCommands) {
	if !e.serves() {
		ctx.Forward(e.sys.registry)
		return
	}
	now := e.sys.clock.mono()
	id, _ := e.pending.add(m, now+int64(queryTime), now)
	e.link.SendControl(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeCommandQueryRequest{
		EdgeCommandQueryRequest: &iopv1.EdgeCommandQueryRequest{CommandIds: m.ids}}})
}

// ping asks the peer for a sign of life, because another instance claims the id.
func (e *edge) ping(m *probeOwner) {
	if !e.serves() {
		return // the end of this connection decides the claim
	}
	id, _ := e.pending.add(m, m.deadline, e.sys.clock.mono())
	e.link.SendControl(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}})
}
