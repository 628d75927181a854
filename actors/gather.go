package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"iop/wire"
)

// FleetReply is a Fleet whose connected Edges were asked for a snapshot unless theirs was young enough.
type FleetReply struct {
	Fleet *Fleet
	Asked []string // the edge_ids of those, in order
	// Faults has the code for each Edge that was asked and gave none.
	Faults map[string]wire.Code
}

// Gather asks, all at once and for at most timeout, every connected Edge that match picks and whose snapshot is
// older than maxAge. The Fleet it gives was copied after the last answer.
func (s *System) Gather(ctx context.Context, match func(*View) bool, maxAge, timeout time.Duration) (FleetReply, *wire.Fault) {
	fleet, f := s.Fleet(ctx)
	if f != nil {
		return FleetReply{}, f
	}
	var ask []string
	fleet.From("", func(v *View) bool {
		if v.Connected && match(v) && !fleet.fresh(v, maxAge) {
			ask = append(ask, v.EdgeID)
		}
		return true
	})
	if len(ask) == 0 {
		return FleetReply{Fleet: fleet}, nil
	}
	done := make(chan map[string]wire.Code, 1)
	s.root().Spawn(shortProps(func() actor.Actor {
		return &gather{sys: s, ask: ask, timeout: timeout, done: done, waiting: map[string]struct{}{}, faults: map[string]wire.Code{}}
	}))
	faults, f := awaitFor(ctx, done, timeout+answerTime, s.givenUp)
	if f != nil {
		return FleetReply{}, f
	}
	fleet, f = s.Fleet(ctx)
	return FleetReply{Fleet: fleet, Asked: ask, Faults: faults}, f
}

// fresh tells whether a snapshot is at most maxAge old.
func (f *Fleet) fresh(v *View, maxAge time.Duration) bool {
	s := v.Pulse.Snapshot()
	return s != nil && f.Age(s) <= maxAge
}

// gather asks many Edges at once and lives until all have answered or its time is up. One hung Edge costs one line.
type gather struct {
	sys     *System
	ask     []string
	timeout time.Duration
	done    chan<- map[string]wire.Code

	timer   *time.Timer
	waiting map[string]struct{}
	faults  map[string]wire.Code
}

type (
	gatherTimeout struct{}
	gathered      struct {
		edgeID string
		fault  *wire.Fault
	}
	// gatherSink brings one Edge's answer to the gather's actor.
	gatherSink struct {
		sys    *System
		pid    *actor.PID
		edgeID string
	}
)

func (s *gatherSink) deliver(r StatusReply) {
	s.sys.root().Send(s.pid, &gathered{edgeID: s.edgeID, fault: r.Fault})
}

func (g *gather) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		g.start(ctx)
	case *gathered:
		g.gathered(ctx, m)
	case *gatherTimeout:
		g.finish(ctx)
	}
}

func (g *gather) start(ctx actor.Context) {
	g.timer = g.sys.after(g.timeout, ctx.Self(), &gatherTimeout{})
	deadline := g.sys.clock.mono() + int64(g.timeout)
	for _, id := range g.ask {
		g.waiting[id] = struct{}{}
		ctx.Send(g.sys.registry, &statusAsk{edgeID: id, timeout: g.timeout, deadline: deadline, to: &gatherSink{g.sys, ctx.Self(), id}})
	}
}

func (g *gather) gathered(ctx actor.Context, m *gathered) {
	if _, ok := g.waiting[m.edgeID]; !ok {
		return
	}
	delete(g.waiting, m.edgeID)
	if m.fault != nil {
		g.faults[m.edgeID] = m.fault.Code
	}
	if len(g.waiting) == 0 {
		g.finish(ctx)
	}
}

func (g *gather) finish(ctx actor.Context) {
	if g.done == nil {
		return
	}
	g.timer.Stop()
	for id := range g.waiting {
		g.faults[id] = wire.EdgeTimeout
	}
	g.done <- g.faults
	g.done = nil
	ctx.Stop(ctx.Self())
}
