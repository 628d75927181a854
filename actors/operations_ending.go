package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// What becomes of commands at the end of the process: what was written and not answered is unknown; what wasn't written is
// taken back, so that it never runs.

// Drain → operations, and operations → itself.
type (
	endAll struct{ done chan<- struct{} }
	endDue struct{}
)

// endingTime is how long a connection then has to say whether a command was written.
const endingTime = time.Second

// ending is what the process's end still waits for: commands of which it isn't known whether they were written.
type ending struct {
	open  map[string]struct{}
	timer *time.Timer
	done  chan<- struct{} // nil once it was closed
}

func (p *operations) endAll(ctx actor.Context, m *endAll) {
	p.ending = &ending{open: map[string]struct{}{}, done: m.done}
	for id, e := range p.log.entries {
		switch e.op.State {
		case Sent:
			p.stopped(ctx, e)
		case Pending:
			p.ending.open[id] = struct{}{}
			if e.flight.queuedBy != nil {
				ctx.Send(e.flight.queuedBy, &withdraw{id}) // and the registry, which drains, refuses it then
			}
		}
	}
	p.ending.timer = p.sys.after(endingTime, ctx.Self(), &endDue{})
	p.writtenKnown("")
}

// endRest: nobody said in time whether these were written.
func (p *operations) endRest(ctx actor.Context) {
	if p.ending == nil {
		return
	}
	for id := range p.ending.open {
		if e := p.log.entries[id]; e != nil {
			p.stopped(ctx, e)
		}
	}
	clear(p.ending.open)
	p.writtenKnown("")
}

// writtenKnown: it is known now whether this command was written.
func (p *operations) writtenKnown(id string) {
	if p.ending == nil || p.ending.done == nil {
		return
	}
	delete(p.ending.open, id)
	if len(p.ending.open) == 0 {
		p.ending.timer.Stop()
		close(p.ending.done)
		p.ending.done = nil
	}
}

func (p *operations) stopped(ctx actor.Context, e *entry) {
	e.flight.fault = faultShuttingDown
	p.apply(ctx, e, e.op.onUnknown("the Control Plane stopped before the Edge answered", time.Now()), time.Time{})
}
