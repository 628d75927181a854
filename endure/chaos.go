//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"iop/load/daemon"
	"iop/wire"
)

// chaosOptions say how large a run is.
type chaosOptions struct {
	seed           uint64
	faults         int
	duration       time.Duration
	edges, proxied int           // simulated, at the Edge wire and behind the proxy
	real           int           // processes
	within         time.Duration // all is well again after a fault
	heartbeat      time.Duration
	race           bool
	progress       io.Writer
}

// chaos is a run under way.
type chaos struct {
	opts    chaosOptions
	plan    plan
	limit   uint64 // of the daemon's descriptors
	log     *logWatch
	daemon  *daemon.Daemon
	ask     *asker
	direct  *testbed
	proxied *testbed
	proxy   *proxy
	real    []*edgeProcess
	pings   *pings
	before  figures
	pace    *pace

	mu       sync.Mutex
	schedule *schedule
	freed    chan struct{} // a fault has ended; closed and made anew
	books    map[string]uint64
	report   *chaosReport
}

// The daemon's time limits are short, so that what it has to end by itself fits between the faults. It keeps the records
// of a whole run, some 35 a second, should it never be killed, and of each process those of its pings, one a second.
func (o *chaosOptions) config() string {
	seconds := int(o.duration.Seconds())
	return fmt.Sprintf(`server: {id: chaos, http_listen: "127.0.0.1:0", wire_listen: "127.0.0.1:0", edge_wire_listen: "127.0.0.1:0", debug_listen: "127.0.0.1:0"}
edges: {hello_timeout: %v, write_timeout: 2s, heartbeat_interval: %v}
audit: {fleet_buffer: %d, edge_buffer: %d}
log: {format: json}
`, helloTime, o.heartbeat, 1<<16+60*seconds, 4096+6*seconds)
}

const helloTime = 3 * time.Second

// silence is how long the daemon waits for a word from an Edge, which is longer than it waits for a hello.
func (o *chaosOptions) silence() time.Duration { return wire.SilentAfter(o.heartbeat) }

// overrun says that a run took over a tenth longer than it is planned for, or "". What a fault may need to recover beyond recoverTime, the
// run may need for each.
func (o *chaosOptions) overrun(took time.Duration) string {
	if took <= o.duration+o.duration/10+time.Duration(o.faults)*max(0, o.within-recoverTime) {
		return ""
	}
	return fmt.Sprintf("%d faults took %v, and were to take %v", o.faults, took.Round(time.Second), o.duration)
}

// spareFiles is what the daemon needs beside a descriptor for each Edge: the HTTP connections of two loads, and some more.
const spareFiles = 700

// runChaos does a plan and gives its report; an error when nothing could be done.
func runChaos(ctx context.Context, o chaosOptions) (*chaosReport, error) {
	dir, err := os.MkdirTemp("", "iop-chaos")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir, o.race, o.progress); err != nil {
		return nil, err
	}
	c := &chaos{opts: o, schedule: newSchedule(), freed: make(chan struct{}), books: map[string]uint64{},
		limit: uint64(o.edges + o.proxied + o.real + spareFiles),
		plan:  newPlan(o.seed, o.faults, o.duration, stage{o.edges, o.real, o.proxied, o.silence()})}
	c.pace = startPace()
	c.report = newChaosReport(c.plan)
	c.report.Again = fmt.Sprintf("go run ./endure chaos --seed %d --faults %d --duration %v --edges %d --proxied %d",
		o.seed, o.faults, o.duration, o.edges, o.proxied)
	defer c.close()
	if err := c.start(ctx, dir); err != nil {
		return nil, err
	}
	fmt.Fprintf(o.progress, "chaos: seed %d, %d faults, %d Edges, %d behind a proxy, %d processes\n", o.seed, o.faults, o.edges, o.proxied, o.real)
	began := time.Now()
	c.perform(ctx, began)
	c.report.TookS = time.Since(began).Seconds()
	c.report.Interrupted = ctx.Err() != nil
	if late := o.overrun(time.Since(began)); late != "" {
		c.fail(nil, late)
	}
	c.finish(ctx)
	c.report.judge()
	return c.report, nil
}

func (c *chaos) start(ctx context.Context, dir string) (err error) {
	if c.log, err = newLogWatch(); err != nil {
		return err
	}
	c.daemon, err = daemon.Start(daemon.Options{Bin: filepath.Join(dir, "iop-control-plane"), Config: c.opts.config(), Output: c.log.write,
		Started: func(pid int) error {
			return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: c.limit, Max: c.limit}, nil)
		}})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.log.lines())
	}
	a := c.daemon.Addresses()
	w := where{http: "http://" + a.HTTP, edgeWire: a.EdgeWire, clientWire: "ws://" + a.Wire + "/client"}
	c.ask = newAsker(w.http)
	if c.before, err = c.figures(); err != nil {
		return err
	}
	if c.proxy, err = startProxy(a.EdgeWire); err != nil {
		return err
	}
	for i := range c.opts.real {
		e, err := startEdge(filepath.Join(dir, "iop-edge"), dir, i, a.EdgeWire)
		if err != nil {
			return err
		}
		c.real = append(c.real, e)
	}
	c.direct = newTestbed("direct", w, c.opts.edges, rates{status: 60, commands: 20, clients: 2, readers: 1})
	w.edgeWire = c.proxy.Listen
	c.proxied = newTestbed("proxied", w, c.opts.proxied, rates{status: 20, commands: 10, readers: 1})
	for _, f := range c.testbeds() {
		f.ledger.KeepCommands(endless)
		if err := f.begin(ctx); err != nil {
			return fmt.Errorf("the Edges of %s don't connect: %w", f.name, err)
		}
	}
	if !c.await(ctx, connectTime, c.allSteady) {
		return errors.New("the fleet isn't steady before the first fault")
	}
	c.pings = startPings(ctx, c.ask, c.real)
	return nil
}

func (c *chaos) testbeds() []*testbed {
	if c.proxied == nil {
		return nil
	}
	return []*testbed{c.direct, c.proxied}
}

// perform does the faults in their order, those that may overlap at once.
func (c *chaos) perform(ctx context.Context, began time.Time) {
	var running sync.WaitGroup
	defer running.Wait()
	for i := range c.plan.Faults {
		f := &c.plan.Faults[i]
		if !sleep(ctx, time.Until(began.Add(f.At))) || !c.take(ctx, f) {
			return
		}
		running.Go(func() {
			defer c.give(f)
			c.one(ctx, f)
		})
	}
}

// take waits until a fault may begin; false when the run ends before.
func (c *chaos) take(ctx context.Context, f *fault) bool {
	for {
		c.mu.Lock()
		begun, freed, dead := c.schedule.begin(f), c.freed, c.report.Dead
		c.mu.Unlock()
		if begun || dead {
			return begun && !dead
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (c *chaos) give(f *fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.schedule.end(f)
	close(c.freed)
	c.freed = make(chan struct{})
}

// patience is how long a fleet that isn't steady in time is waited for, so that the next fault is not blamed for this one.
const patience = 30 * time.Second

// one does a fault, and measures how long it takes from its end until all is well.
func (c *chaos) one(ctx context.Context, f *fault) {
	if f.Kind == daemonKilled { // what the daemon knows of commands ends with it
		c.checkRecords(ctx, f)
	}
	if f.target() == theDaemon { // what fails meanwhile is the fault's doing
		for _, bed := range c.testbeds() {
			bed.traffic.Outage(true)
			defer bed.traffic.Outage(false)
		}
	}
	began := time.Now()
	if err := c.do(ctx, f); err != nil && ctx.Err() == nil {
		c.fail(f, err.Error())
	}
	ended := time.Now()
	if f.Kind == daemonKilled { // it was waited for until it is ready, which is part of being steady again
		ended = c.daemon.Began()
	}
	steady := c.await(ctx, patience, func() bool { return c.steady(f) })
	took := time.Since(ended)
	if ctx.Err() != nil {
		return
	}
	switch {
	case !steady:
		c.fail(f, fmt.Sprintf("not steady %v after its end: %s", patience, c.unsteady(f)))
	case took > c.opts.within:
		c.fail(f, fmt.Sprintf("steady %v after its end, and not within %v", took.Round(time.Millisecond), c.opts.within))
	}
	c.done(f, ended.Sub(began), took)
}

const lookEvery = 20 * time.Millisecond

// await waits until something holds. It gives up when its time is over, or the daemon has gone though nobody killed it.
func (c *chaos) await(ctx context.Context, limit time.Duration, holds func() bool) bool {
	for by := time.Now().Add(limit); time.Now().Before(by); {
		if holds() {
			return true
		}
		select {
		case <-c.daemon.Ended():
			return false
		case <-ctx.Done():
			return false
		case <-time.After(lookEvery):
		}
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// close ends every process and connection, whatever was started of them.
func (c *chaos) close() {
	c.pace.close()
	if c.pings != nil {
		c.pings.end()
	}
	for _, f := range c.testbeds() {
		f.close()
	}
	if c.proxy != nil {
		_ = c.proxy.cut()
	}
	for _, e := range c.real {
		e.kill()
		_ = e.log.Close()
	}
	if c.daemon != nil {
		c.daemon.Close()
	}
	if c.log != nil {
		c.log.close()
	}
}
