//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// fail notes what didn't hold, with what was going on.
func (c *chaos) fail(f *fault, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := failure{Fault: f, What: what, Log: c.log.lines(), HeldUpMS: milliseconds(c.pace.worst())}
	for _, other := range c.schedule.running {
		if other != f {
			it.Beside = append(it.Beside, *other)
		}
	}
	c.report.Failures = append(c.report.Failures, it)
	fmt.Fprint(c.opts.progress, it.text(c.plan.Seed))
	select {
	case <-c.daemon.Ended():
		c.report.Dead = true
	default:
	}
}

// done notes a fault that is over, and looks into the books.
func (c *chaos) done(f *fault, lasted, took time.Duration) {
	c.look(f)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Done++
	c.report.took[f.Kind] = append(c.report.took[f.Kind], took)
	fmt.Fprintf(c.opts.progress, "chaos: %d/%d %s (%d), lasted %v, steady after %v\n", c.report.Done, len(c.plan.Faults), f.Kind, f.Number,
		lasted.Round(time.Millisecond), took.Round(time.Millisecond))
}

// unexcused names what grew in the books, and of the Edges' troubles. Those are excused by a fault of the daemon, which comes alone: an
// Edge rightly gives up a daemon that doesn't answer.
func unexcused(f *fault, before, now, troubles map[string]uint64) string {
	counted := map[string]uint64{}
	maps.Copy(counted, now)
	if f == nil || f.target() != theDaemon {
		maps.Copy(counted, troubles)
	}
	return grown(before, counted)
}

// look tells what came into the books that no fault excuses, and what the daemon said that none may.
func (c *chaos) look(f *fault) {
	now, troubles := map[string]uint64{}, map[string]uint64{}
	for _, bed := range c.testbeds() {
		for name, n := range bed.books() {
			now[bed.name+" "+name] = n
		}
		for name, n := range bed.troubles() {
			troubles[bed.name+" "+name] = n
		}
	}
	bad := c.log.broken()
	now["lines of the daemon about a panic or a race"] = uint64(len(bad))
	c.mu.Lock()
	more := unexcused(f, c.books, now, troubles)
	c.books = now
	maps.Copy(c.books, troubles)
	c.mu.Unlock()
	if more != "" {
		c.fail(f, "not excused: "+more)
	}
}

// finish ends the load and looks at what is left.
func (c *chaos) finish(ctx context.Context) {
	if c.report.Dead {
		return
	}
	for _, f := range c.testbeds() {
		f.endTraffic()
		for name, n := range f.requests(0) {
			c.report.Asked[name] += n.OK
			c.report.Excused[name] += n.Excused
		}
	}
	c.pings.end()
	c.look(nil)
	c.checkRecords(ctx, nil)
	for _, e := range c.real {
		if said := e.broken(); said != "" {
			c.fail(nil, e.id+" printed "+said)
		}
		e.kill()
	}
	for _, f := range c.testbeds() {
		f.close()
	}
	if err := c.proxy.cut(); err != nil {
		c.fail(nil, err.Error())
	}
	c.checkLeaks()
	if err := c.daemon.Stop(); err != nil {
		c.fail(nil, err.Error())
	}
}

// checkLeaks wants the daemon to hold as much as at its start, once everybody has gone, or hardly more. It waits a moment for no more than
// that.
func (c *chaos) checkLeaks() {
	leak := ""
	began := time.Now()
	for ; time.Since(began) < settleTime; time.Sleep(time.Second) {
		now, err := c.figures()
		if err != nil {
			leak = err.Error()
			continue
		}
		c.report.Before, c.report.After = c.before, now
		leak = now.leak(c.before)
		if leak == "" && (now.atMost(c.before) || time.Since(began) > lastTime) {
			return
		}
	}
	c.fail(nil, "everybody has gone, and it holds "+leak)
}

func (c *chaos) figures() (figures, error) {
	v, err := c.ask.metrics("process_open_fds", "go_goroutines")
	if err != nil {
		return figures{}, err
	}
	return figures{Descriptors: int(v[0]), Goroutines: int(v[1])}, nil
}
