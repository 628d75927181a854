package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// What operations ask the Edges that are back.

// inquiry is what one Edge is being asked about: one command at a time. The answer about one command fits a frame, as the answer to the
// command itself would have; about several it may not, and the Edge would have to leave out results, which nobody asks for again.
type inquiry struct {
	asked   string // the command in question; it has queryTime
	waiting []string
	timer   *time.Timer
}

// next moves on to the next command that may still be settled; false behind the last one.
func (q *inquiry) next(open func(operationID string) bool) bool {
	for len(q.waiting) > 0 {
		q.asked, q.waiting = q.waiting[0], q.waiting[1:]
		if open(q.asked) {
			return true
		}
	}
	q.asked = ""
	return false
}

// question has an Edge asked about commands, behind those that it is being asked about already.
func (p *operations) question(ctx actor.Context, edgeID string, ids []string) {
	q := p.inquiries[edgeID]
	if q == nil {
		q = &inquiry{}
		p.inquiries[edgeID] = q
	}
	q.waiting = append(q.waiting, ids...)
	if q.asked == "" {
		p.askNext(ctx, edgeID, q)
	}
}

func (p *operations) askNext(ctx actor.Context, edgeID string, q *inquiry) {
	p.stopAsking(edgeID)
	if q.next(p.open) {
		p.inquiries[edgeID] = q
		q.timer = p.sys.after(queryTime, ctx.Self(), &queryDue{edgeID, q, q.asked})
		ctx.Send(p.sys.registry, &queryCommand{edgeID: edgeID, operationID: q.asked})
	}
}

func (p *operations) open(id string) bool {
	e := p.log.entries[id]
	return e != nil && !e.op.State.Terminal()
}

// stopAsking ends an inquiry. What it leaves is asked about when the Edge is back.
func (p *operations) stopAsking(edgeID string) {
	if q := p.inquiries[edgeID]; q != nil {
		if q.timer != nil {
			q.timer.Stop()
		}
		delete(p.inquiries, edgeID)
	}
}

// queryDue: an Edge that doesn't answer about one command may do so about the next.
func (p *operations) queryDue(ctx actor.Context, m *queryDue) {
	if q := p.inquiries[m.edgeID]; q == m.inquiry && q.asked == m.operationID {
		p.askNext(ctx, m.edgeID, q)
	}
}

func (p *operations) queried(ctx actor.Context, edgeID string, m *queryAnswered) {
	for _, a := range m.answers {
		p.answered(ctx, edgeID, a)
	}
	for _, id := range m.unknown {
		// What is unanswered wasn't asked about: its answer is on the way.
		if e := p.theirs(edgeID, id); e != nil && !e.op.unanswered() {
			p.apply(ctx, e, e.op.onForgotten(time.Now()), time.Time{})
		}
	}
	if q := p.inquiries[edgeID]; q != nil && q.asked == m.operationID {
		p.askNext(ctx, edgeID, q)
	}
}
