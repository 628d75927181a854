package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/tidwall/btree"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// operations owns every command's record and the idempotency keys. It alone changes a record and answers who asked for the
// command; what states there are is in operation.go, how they follow in opstate.go, what is kept in oplog.go.
type operations struct {
	sys *System
	log *oplog
	ids operationIDs

	inquiries map[string]*inquiry // by edge_id, of Edges that are being asked

	ending *ending // nil until the process ends
}

// Fronts → operations, and operations → itself.
type (
	commandAsk struct {
		ask     *CommandAsk
		request *iopv1.EdgeCommandRequest // without id and times
		// recorded is told the operation's id as soon as there is one, or "" where there will be none. Buffered.
		recorded chan<- string
		to       chan<- CommandReply
	}
	operationAsk struct {
		edgeID, operationID string
		to                  chan<- *Operation // nil when it isn't on record
	}
	auditAsk struct {
		edgeID string // empty: the fleet's
		to     chan<- audit
	}
	underWayAsk struct{ to chan<- int }

	commandTimeout struct{ operationID string }

	// queryDue: the Edge has had its time to answer this question.
	queryDue struct{ question *queryCommands }
)

// audit is a copy of the records, made in O(1), for the asker to read.
type audit struct {
	ops     *btree.Map[string, *Operation]
	dropped uint64
}

// named never blocks, whoever asks.
func (m *commandAsk) named(operationID string) {
	select {
	case m.recorded <- operationID:
	default:
	}
}

const (
	// withdrawTime is how long a connection has to say whether a command whose time is up was written.
	withdrawTime = 5 * time.Second
	// queryIDs is how many commands one question to a returned Edge names at most, and queryIDBytes an upper bound of what each
	// takes in its frame.
	queryIDs     = 1000
	queryIDBytes = 32
)

func newOperations(sys *System) *operations {
	return &operations{sys: sys, log: newOplog(sys.opts.Audit), ids: newOperationIDs(), inquiries: map[string]*inquiry{}}
}

func (p *operations) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *commandAsk:
		p.ask(ctx, m)
	case *commandRefused:
		p.refused(ctx, m)
	case *commandQueued:
		p.queued(m)
	case *commandSent:
		p.sent(ctx, m)
	case *commandWithdrawn:
		p.withdrawn(ctx, m.operationID)
	case *commandsLost:
		p.lost(ctx, m)
	case *commandTimeout:
		p.timeout(ctx, m.operationID)
	case *said:
		p.said(ctx, m)
	case *edgeBack:
		p.edgeBack(ctx, m)
	case *notAsked:
		p.stopAsking(m.edgeID)
	case *queryDue:
		p.queryDue(ctx, m)
	case *edgeForgotten:
		p.log.forgetEdge(m.edgeID)
		ctx.Forward(p.sys.events)
	case *publish, *eventsAsk, *subscribeAsk, *unsubscribe: // who asks after something has happened finds its event
		ctx.Forward(p.sys.events)
	case *operationAsk:
		m.to <- p.find(m.edgeID, m.operationID)
	case *auditAsk:
		m.to <- p.audit(m.edgeID)
	case *underWayAsk:
		m.to <- p.underWay()
	case *actor.Stopping:
		for edgeID := range p.inquiries {
			p.stopAsking(edgeID)
		}
	case *endAll:
		p.endAll(ctx, m)
	case *endDue:
		p.endRest(ctx)
	}
}

// ask records a command and sends it on its way, or finds that it was asked for already.
func (p *operations) ask(ctx actor.Context, m *commandAsk) {
	now, a := time.Now(), m.ask
	w := waiter{to: m.to, wait: a.Wait}
	if a.Key != "" {
		if use := p.log.used(a.EdgeID, a.Key, now); use != nil {
			if use.fingerprint != a.Fingerprint {
				m.named("")
				m.to <- CommandReply{Fault: faultKeyReused}
				return
			}
			m.named(use.entry.op.ID)
			p.attach(use.entry, w)
			return
		}
	}
	o := &Operation{ID: p.ids.next(now), EdgeID: a.EdgeID, Operation: a.Operation, NodeID: a.NodeID,
		Parameters: a.Shown, Reason: a.Reason, RequestedBy: a.RequestedBy, RequestID: a.RequestID,
		State: Pending, CreatedAt: now, ExpiresAt: now.Add(a.Timeout)}
	p.sys.counters.moved(nil, o)
	m.named(o.ID)
	e := p.log.add(o)
	p.sys.counters.recordsDropped.Store(int64(p.log.dropped))
	if a.Key != "" {
		p.log.setKey(a.Key, a.Fingerprint, e, now)
	}
	m.request.CommandId, m.request.ExpiresAt = o.ID, timestamppb.New(o.ExpiresAt)
	e.flight = flight{request: m.request, deadline: p.sys.clock.mono() + int64(a.Timeout), wait: a.Wait, waiters: []waiter{w},
		timer: p.sys.after(a.Timeout, ctx.Self(), &commandTimeout{o.ID})}
	p.dispatch(ctx, e)
}

func (p *operations) dispatch(ctx actor.Context, e *entry) {
	ctx.Send(p.sys.registry, &dispatch{operationID: e.op.ID, edgeID: e.op.EdgeID, request: e.flight.request, deadline: e.flight.deadline})
}

// attach answers a caller who repeats a request as the first one is or was: one waits only where both wanted to.
func (p *operations) attach(e *entry, w waiter) {
	w.wait = w.wait && e.flight.wait
	e.flight.waiters = append(e.flight.waiters, w)
	p.answer(e)
}

// answer answers those whose wait is over.
func (p *operations) answer(e *entry) {
	f := &e.flight
	onItsWay := f.queuedBy != nil || e.op.State != Pending
	ended := !e.op.unanswered()
	var still []waiter
	for _, w := range f.waiters {
		switch {
		case ended:
			w.to <- CommandReply{Operation: e.op, Fault: f.fault, EdgeError: f.edgeError}
		case onItsWay && !w.wait:
			f.told = true
			w.to <- CommandReply{Operation: e.op}
		default:
			still = append(still, w)
		}
	}
	f.waiters = still
	if ended && f.timer != nil {
		f.timer.Stop()
		f.timer, f.request = nil, nil
	}
}

// apply makes a step, tells the events, and answers.
func (p *operations) apply(ctx actor.Context, e *entry, s step, occurred time.Time) bool {
	if s.next == nil {
		return false
	}
	p.sys.counters.moved(e.op, s.next)
	p.log.update(e, s.next)
	p.sys.counters.recordsDropped.Store(int64(p.log.dropped))
	if s.kind != "" {
		p.sys.counters.operations.add(s.kind, 1)
		ctx.Send(p.sys.events, &publish{event: &Event{EdgeID: e.op.EdgeID, NodeID: clip(e.op.NodeID, maxNameBytes), OperationID: e.op.ID,
			Kind: s.kind, Message: clip(s.text, maxMessageBytes), OccurredAt: occurred}})
	}
	p.answer(e)
	return true
}

func (p *operations) refused(ctx actor.Context, m *commandRefused) {
	e := p.log.entries[m.operationID]
	if e == nil || !e.op.unsent() {
		return
	}
	defer p.writtenKnown(m.operationID)
	if e.flight.told || e.op.State == Unknown {
		e.flight.fault = m.fault
		p.apply(ctx, e, e.op.onExpired("never sent: "+m.fault.Message, time.Now()), time.Time{})
		return
	}
	e.flight.timer.Stop()
	p.sys.counters.moved(e.op, nil)
	p.sys.counters.commandRefusals.add(string(m.fault.Code), 1)
	p.log.remove(e)
	for _, w := range e.flight.waiters {
		w.to <- CommandReply{Fault: m.fault}
	}
}

func (p *operations) queued(m *commandQueued) {
	if e := p.log.entries[m.operationID]; e != nil && e.op.unsent() {
		e.flight.queuedBy = m.pid
		p.answer(e)
		if e.flight.late || p.ending != nil {
			p.sys.root().Send(m.pid, &withdraw{m.operationID})
		}
	}
}

func (p *operations) sent(ctx actor.Context, m *commandSent) {
	e := p.log.entries[m.operationID]
	if e == nil {
		return
	}
	lost := e.carriedBy(m.token)
	p.apply(ctx, e, e.op.onSent(m.at), time.Time{})
	switch {
	case e.flight.late:
		p.noAnswer(ctx, e)
		p.askIfBack(ctx, e)
	case lost:
		p.loseOne(ctx, e)
		p.askIfBack(ctx, e)
	case p.ending != nil:
		p.stopped(ctx, e)
	}
	p.writtenKnown(m.operationID)
}

// withdrawn: it was taken back unwritten, because its time is up, or because its connection ended and another may carry it.
func (p *operations) withdrawn(ctx actor.Context, id string) {
	e := p.log.entries[id]
	if e == nil || !e.op.unsent() {
		return
	}
	e.flight.queuedBy = nil
	if !e.flight.late && p.sys.clock.mono() <= e.flight.deadline {
		p.dispatch(ctx, e)
		return
	}
	e.flight.fault = faultNotSent
	p.apply(ctx, e, e.op.onExpired("never sent: its time was up", time.Now()), time.Time{})
	p.writtenKnown(id)
}

// lost: what could not be taken back was written, though the link's word of that may still be on its way.
func (p *operations) lost(ctx actor.Context, m *commandsLost) {
	for _, id := range m.ids {
		if e := p.log.entries[id]; e != nil && e.lostWith(m.token) {
			p.loseOne(ctx, e)
			p.askIfBack(ctx, e)
		}
	}
}

// askIfBack asks an Edge that was back before its command became unknown, so that it wasn't asked about it then.
func (p *operations) askIfBack(ctx actor.Context, e *entry) {
	if p.log.edges[e.op.EdgeID].backSince(e.flight.token) {
		p.question(ctx, e.op.EdgeID, []string{e.op.ID})
	}
}

func (p *operations) loseOne(ctx actor.Context, e *entry) {
	e.flight.fault = faultLost
	p.apply(ctx, e, e.op.onUnknown("the connection ended before the Edge answered", time.Now()), time.Time{})
}

// timeout: the Edge has not answered in time. What was not written yet is taken back, so that it never runs.
func (p *operations) timeout(ctx actor.Context, id string) {
	e := p.log.entries[id]
	switch {
	case e == nil:
	case e.op.State == Sent, e.op.State == Pending && e.flight.late:
		p.noAnswer(ctx, e)
		p.askIfBack(ctx, e)
		p.writtenKnown(id)
	case e.op.State == Pending:
		e.flight.late = true
		e.flight.timer = p.sys.after(withdrawTime, ctx.Self(), &commandTimeout{id})
		if e.flight.queuedBy != nil {
			ctx.Send(e.flight.queuedBy, &withdraw{id})
		}
	}
}

func (p *operations) noAnswer(ctx actor.Context, e *entry) {
	e.flight.fault = faultTimeout
	p.apply(ctx, e, e.op.onUnknown("the Edge did not answer in time", time.Now()), time.Time{})
}

// edgeBack: what an older connection carried unanswered is lost with it; then the Edge is asked about all that isn't settled.
func (p *operations) edgeBack(ctx actor.Context, m *edgeBack) {
	if q := p.inquiries[m.edgeID]; q != nil { // the question may have been what the connection ended of
		p.leftOpen(q.question)
	}
	p.stopAsking(m.edgeID)
	p.log.edgeBack(m.edgeID, m.token)
	ids := p.log.unsettled(m.edgeID)
	for _, id := range ids {
		if e := p.log.entries[id]; e.carriedBefore(m.token) {
			p.loseOne(ctx, e)
		}
	}
	p.question(ctx, m.edgeID, ids)
}

func (p *operations) underWay() (n int) {
	for _, e := range p.log.entries {
		if e.op.unanswered() {
			n++
		}
	}
	return n
}

func (p *operations) find(edgeID, id string) *Operation {
	if e := p.theirs(edgeID, id); e != nil {
		return e.op
	}
	return nil
}

func (p *operations) audit(edgeID string) audit {
	if edgeID == "" {
		return audit{p.log.fleet.Copy(), p.log.dropped}
	}
	e := p.log.edges[edgeID]
	if e == nil {
		return audit{ops: &btree.Map[string, *Operation]{}}
	}
	return audit{e.ops.Copy(), e.dropped}
}
