package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// What operations ask the Edges that are back.

// inquiry is what one Edge is being asked about. One question names all commands, as far as a frame takes their ids. The outcomes of several may
// not fit a frame, though each does: an Edge may leave some out, answer with an Error, or say too much and be cut off. Once a question about
// several has left something open, the Edge is asked about one at a time.
type inquiry struct {
	question *queryCommands // it has queryTime
	waiting  []string
	timer    *time.Timer
}

// next makes the next question, about those that may still be settled; false behind the last one.
func (q *inquiry) next(edgeID string, most int, open func(operationID string) bool) bool {
	q.question = &queryCommands{edgeID: edgeID}
	for len(q.waiting) > 0 && len(q.question.ids) < most {
		if open(q.waiting[0]) {
			q.question.ids = append(q.question.ids, q.waiting[0])
		}
		q.waiting = q.waiting[1:]
	}
	return len(q.question.ids) > 0
}

// again puts back what a question about several left open.
func (q *inquiry) again(left []string) { q.waiting = slices.Concat(left, q.waiting) }

// untold gives the commands of a question that an answer to it does not name.
func (m *queryAnswered) untold() []string {
	told := map[string]bool{}
	for _, a := range m.answers {
		told[a.operationID] = true
	}
	for _, id := range m.unknown {
		told[id] = true
	}
	return slices.DeleteFunc(slices.Clone(m.question.ids), func(id string) bool { return told[id] })
}

// question has an Edge asked about commands, behind those that it is being asked about already.
func (p *operations) question(ctx actor.Context, edgeID string, ids []string) {
	if q := p.inquiries[edgeID]; q != nil {
		q.waiting = append(q.waiting, ids...)
		return
	}
	p.askNext(ctx, edgeID, &inquiry{waiting: ids})
}

func (p *operations) askNext(ctx actor.Context, edgeID string, q *inquiry) {
	p.stopAsking(edgeID)
	most := min(queryIDs, p.sys.opts.MaxFrameBytes/queryIDBytes)
	if edge := p.log.edges[edgeID]; edge != nil && edge.oneByOne {
		most = 1
	}
	if q.next(edgeID, most, p.open) {
		p.inquiries[edgeID] = q
		q.timer = p.sys.after(queryTime, ctx.Self(), &queryDue{q.question})
		ctx.Send(p.sys.registry, q.question)
	}
}

func (p *operations) open(id string) bool {
	e := p.log.entries[id]
	return e != nil && !e.op.State.Terminal()
}

// stopAsking ends an inquiry. What it leaves is asked about when the Edge is back.
func (p *operations) stopAsking(edgeID string) {
	if q := p.inquiries[edgeID]; q != nil {
		q.timer.Stop()
		delete(p.inquiries, edgeID)
	}
}

// leftOpen notes that a question about several commands left some open.
func (p *operations) leftOpen(m *queryCommands) {
	if edge := p.log.edges[m.edgeID]; edge != nil && len(m.ids) > 1 {
		edge.oneByOne = true
	}
}

// queryDue: an Edge that doesn't answer about one command may do so about the next.
func (p *operations) queryDue(ctx actor.Context, m *queryDue) {
	p.goOn(ctx, m.question, m.question.ids)
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
	p.goOn(ctx, m.question, m.untold())
}

// goOn asks the next question behind one that has left these open.
func (p *operations) goOn(ctx actor.Context, m *queryCommands, left []string) {
	q := p.inquiries[m.edgeID]
	if q == nil || q.question != m {
		return
	}
	if len(left) > 0 && len(m.ids) > 1 {
		p.leftOpen(m)
		q.again(left)
	}
	p.askNext(ctx, m.edgeID, q)
}
