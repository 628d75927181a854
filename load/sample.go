package load

import (
	"context"
	"sync/atomic"
	"time"

	"iop/load/measure"
)

// phaseCell is the phase that a run is in, set by it and read by the sampler.
type phaseCell struct{ v atomic.Value }

func (p *phaseCell) set(phase string) { p.v.Store(phase) }

func (p *phaseCell) get() string {
	phase, _ := p.v.Load().(string)
	return phase
}

// sample takes a sample a second until ctx ends, and a last one then.
func (r *run) sample(ctx context.Context) {
	s := &sampler{run: r, last: r.began, status: measure.NewRater(r.traffic.Status), commands: measure.NewRater(r.traffic.Commands),
		events: measure.NewRater(r.traffic.Events), before: r.server.usage()}
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		one := s.next(time.Now())
		r.samples.Add(one)
		r.watch(one)
	}
}

type sampler struct {
	run                      *run
	last                     time.Time
	status, commands, events *measure.Rater
	before                   *measure.Usage
}

func (s *sampler) next(now time.Time) measure.Sample {
	since := now.Sub(s.last)
	s.last = now
	one := measure.Sample{AtS: now.Sub(s.run.began).Seconds(), Phase: s.run.phases.get(),
		Target: s.run.scenario.Edges.Count, Connected: s.run.fleet.Connected()}
	var status, commands measure.Counts
	one.Status, status = s.status.Next(since)
	one.Commands, commands = s.commands.Next(since)
	one.Events, _ = s.events.Next(since)
	one.Errors, one.Excused = status.Errors+commands.Errors, status.Excused+commands.Excused
	if u := s.run.server.usage(); u != nil {
		one.Resident = &u.Resident
		if s.before != nil && u.CPU >= s.before.CPU {
			one.CPU = new(100 * (u.CPU - s.before.CPU).Seconds() / since.Seconds())
		}
		s.before = u
	}
	return one
}
