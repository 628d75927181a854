package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"iop/load/fleet"
	"iop/load/ledger"
	"iop/load/measure"
	"iop/load/report"
	"iop/load/traffic"
)

// Watch is told how a run goes, once a second, from one goroutine.
type Watch func(measure.Sample)

// Phases of a run, as samples name them.
const (
	Connecting = "connecting"
	Loading    = "load"
	Recovering = "waiting for Edges to come back"
	Closing    = "closing"
)

const (
	sampleEvery = time.Second
	// settleTime lets memory settle once all Edges are connected.
	settleTime = time.Second
	// recoverTime is how long a fleet that was disturbed has to come back after the traffic.
	recoverTime = 30 * time.Second
	// closeTime is how long the server has to close after the Edges' goodbyes.
	closeTime = 10 * time.Second
	// firstTime is how long the first Edge of a fleet has to connect: where nobody listens there is nothing to wait for.
	firstTime = 10 * time.Second
	// connectTime is how long a fleet has to connect, beside what its rate takes.
	connectTime = 60 * time.Second
)

// run is one run under way.
type run struct {
	scenario    *Scenario
	target      *Target
	ledger      *ledger.Ledger
	fleet       *fleet.Fleet
	traffic     *traffic.Traffic
	server      server
	result      Result
	samples     measure.Samples
	watch       Watch
	phases      phaseCell
	began       time.Time
	connecting  time.Time // when the fleet began to connect
	connectTime time.Duration

	mu     sync.Mutex
	storms []report.Storm // never nil: JSON has a list
}

// Run does what a scenario says and gives what it found, whole also when ctx ends before its time. When it returns, every
// connection is closed. The error is nil unless there is nothing to report: not one Edge could be connected.
func Run(ctx context.Context, target Target, s Scenario, watch Watch) (*Result, error) {
	r := newRun(&target, &s, watch)
	sampling, stopSampling := context.WithCancel(context.Background())
	var sampler sync.WaitGroup
	sampler.Go(func() { r.sample(sampling) })
	err := r.perform(ctx)
	stopSampling()
	sampler.Wait()
	if err != nil {
		return nil, err
	}
	r.result.Interrupted = ctx.Err() != nil
	r.result.Samples = r.samples.All()
	return &r.result, nil
}

func newRun(target *Target, s *Scenario, watch Watch) *run {
	r := &run{scenario: s, target: target, watch: watch, began: time.Now(), connectTime: connectTime, storms: []report.Storm{},
		result: Result{StartedAt: time.Now().UTC(), Processes: 1, Target: s.Edges.Count}}
	r.ledger = ledger.New(s.Edges.IDPrefix, s.Edges.Count)
	r.fleet = fleet.New(fleet.Options{
		Address: target.EdgeWire, Token: target.EdgeToken, Count: s.Edges.Count, IDPrefix: s.Edges.IDPrefix,
		ConnectRate: s.Edges.ConnectRate, Nodes: s.Edges.Nodes, Providers: s.Edges.Providers, PushInterval: s.Edges.PushInterval,
		Reconnect: s.Edges.Reconnect, ReconnectMax: s.Edges.ReconnectMax, CommandPhaseDelay: s.Traffic.PhaseDelay, Ledger: r.ledger,
	})
	r.traffic = traffic.New(traffic.Options{
		HTTP: target.HTTP, Wire: target.ClientWire, Token: target.OperatorToken,
		Edges: s.Edges.Count, IDPrefix: s.Edges.IDPrefix, Ledger: r.ledger, Calm: r.fleet.Calm,
		Duration: s.Duration, Ramp: s.Ramp,
		StatusRate: s.Traffic.StatusRate, SummaryRate: s.Traffic.SummaryRate, CommandRate: s.Traffic.CommandRate, ClientRate: s.Traffic.ClientRate,
		Timeout: s.Traffic.Timeout, CommandTimeout: s.Traffic.CommandTimeout,
		PhasedPercent: s.Traffic.PhasedPercent, PhaseDelay: s.Traffic.PhaseDelay, Readers: s.Traffic.Readers, SlowReaders: s.Traffic.SlowReaders,
	})
	r.server.find(target)
	return r
}

// perform goes through the phases. The fleet is closed at its end, whatever happened.
func (r *run) perform(ctx context.Context) error {
	recordGrowth := r.memoryBefore()
	r.phases.set(Connecting)
	err := r.connect(ctx)
	if err == nil {
		debug.FreeOSMemory() // what ten thousand dials and hellos left is garbage
		sleepUntil(ctx, time.Now().Add(settleTime))
		recordGrowth()
		r.load(ctx)
	}
	r.result.Connected = r.fleet.Connected()
	r.close()
	r.tell()
	return err
}

// memoryBefore notes how much memory both sides hold before the Edges connect. What it gives is called once they are connected, and
// records how much more each side holds then by Edge.
func (r *run) memoryBefore() (recordGrowth func()) {
	debug.FreeOSMemory()
	self := measure.Process{Pid: os.Getpid()}
	server, own := r.server.usage(), usage(self)
	return func() {
		n, now := r.fleet.Connected(), usage(self)
		r.result.Server.BytesPerEdge = growth(server, r.server.usage(), n)
		r.result.Tool.BytesPerEdge = growth(own, now, n)
		if now != nil {
			r.result.Tool.ResidentBytes = &now.Resident
		}
	}
}

// connect connects the fleet and waits for it, where the scenario waits. A run whose Edges couldn't all be connected goes on
// with those that could.
func (r *run) connect(ctx context.Context) error {
	r.connecting = time.Now()
	r.fleet.Connect()
	if r.scenario.AtOnce {
		return nil
	}
	wait := r.connectTime
	if rate := r.scenario.Edges.ConnectRate; rate > 0 {
		wait += time.Duration(r.scenario.Edges.Count) * time.Second / time.Duration(rate)
	}
	first := min(firstTime, wait)
	r.awaitAll(ctx, first)
	if r.fleet.Connected() == 0 && ctx.Err() == nil {
		return fmt.Errorf("not one Edge could be connected at %s in %s (%s): is a Control Plane there? --edge-wire names another address, --daemon starts one",
			r.target.EdgeWire, first, report.Joined(r.fleet.Stats().Troubles))
	}
	r.awaitAll(ctx, wait-first)
	return nil
}

func (r *run) awaitAll(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	_, _ = r.fleet.AwaitAll(ctx)
}

// load runs traffic and disturbances side by side, and then lets the fleet come back.
func (r *run) load(ctx context.Context) {
	r.phases.set(Loading)
	cpu, unmatched := r.server.usage(), r.traffic.Unmatched()
	began := time.Now()
	r.result.TrafficAtS = began.Sub(r.began).Seconds()
	disturbing, enough := context.WithCancel(ctx)
	var disturbances sync.WaitGroup
	for _, d := range r.scenario.Disturb {
		if d, any := d.within(r.scenario.Duration); any {
			disturbances.Go(func() { r.disturb(disturbing, began, d) })
		}
	}
	r.traffic.Run(ctx)
	r.result.DurationS = min(time.Since(began), r.scenario.Duration).Seconds()
	r.server.spent(cpu, time.Since(began), r.traffic.Status.Counts().OK, &r.result.Server)
	r.phases.set(Recovering)
	r.awaitAll(ctx, recoverTime)
	enough()
	disturbances.Wait()
	r.ledger.CameLate(cameLate(unmatched, r.traffic.Unmatched(), r.fleet.Stats().Strays))
}

// cameLate is how many answers the Control Plane has counted that came when nobody waited any more, those not counted that this
// run made itself. A counter that can't be read, or that began anew, tells of none.
func cameLate(before, after *uint64, strays uint64) uint64 {
	if before == nil || after == nil || *after < *before+strays {
		return 0
	}
	return *after - *before - strays
}

func (r *run) close() {
	r.phases.set(Closing)
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	r.result.Cut = r.fleet.Close(ctx)
}

// tell fills the result with what was counted.
func (r *run) tell() {
	o, t := &r.result, r.traffic
	o.Fleet = r.fleet.Stats()
	if full := o.Fleet.FirstFull; !full.IsZero() {
		o.ConnectMS = measure.Millis(full.Sub(r.connecting))
	}
	o.Status, o.Summaries, o.Commands, o.Settled = t.Status.Tally(), t.Summaries.Tally(), t.Commands.Tally(), t.Settled.Tally()
	o.Clients, o.Events, o.Readers = t.Clients.Tally(), t.Events.Tally(), t.Readers.Tally()
	o.Gaps, o.Totals, o.Storms = t.Gaps.Load(), r.ledger.Totals(), r.storms
}

// some picks a share of all Edges, or at least one.
func (r *run) some(percent int) []int {
	n := r.scenario.Edges.Count
	return rand.Perm(n)[:max(1, n*percent/100)]
}
