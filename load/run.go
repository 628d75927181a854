package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
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
	// connectTime is how long a fleet has to connect, beside what its rate takes.
	connectTime = 60 * time.Second
)

// run is one run under way.
type run struct {
	scenario   *Scenario
	target     *Target
	ledger     *ledger.Ledger
	fleet      *fleet.Fleet
	traffic    *traffic.Traffic
	server     server
	report     *report.Report
	samples    measure.Samples
	watch      Watch
	phases     phaseCell
	began      time.Time
	connecting time.Time // when the fleet began to connect

	mu     sync.Mutex
	storms []report.Storm // never nil: JSON has a list
}

// Run does what a scenario says and gives its report, whole also when ctx ends before its time. When it returns, every
// connection is closed. The error is nil unless there is nothing to report: not one Edge could be connected.
func Run(ctx context.Context, target Target, s Scenario, thresholds []report.Threshold, watch Watch) (*report.Report, error) {
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
	r.report.Interrupted = ctx.Err() != nil
	r.report.Samples = r.samples.All()
	r.report.Judge(thresholds)
	return r.report, nil
}

func newRun(target *Target, s *Scenario, watch Watch) *run {
	r := &run{scenario: s, target: target, watch: watch, began: time.Now(), storms: []report.Storm{},
		report: &report.Report{Scenario: s.Name, Description: s.Description, StartedAt: time.Now().UTC(), Processes: 1}}
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
		PhasedOperation: fleet.OperationPhased, QuickOperation: fleet.OperationQuick,
		NonceKey: fleet.NonceKey, EdgeKey: fleet.EdgeKey, StampLabel: fleet.StampLabel, EventPrefix: fleet.EventPrefix,
	})
	r.server.find(target)
	return r
}

// perform goes through the phases. The fleet is closed at its end, whatever happened.
func (r *run) perform(ctx context.Context) error {
	weigh := r.scales()
	r.phases.set(Connecting)
	err := r.connect(ctx)
	if err == nil {
		debug.FreeOSMemory() // what ten thousand dials and hellos left is garbage
		sleepUntil(ctx, time.Now().Add(settleTime))
		weigh()
		r.load(ctx)
	}
	r.report.Edges.Connected = r.fleet.Connected()
	r.close()
	r.tell()
	return err
}

// scales weigh both sides now, and again when they are called: the difference is what the Edges took.
func (r *run) scales() (weigh func()) {
	debug.FreeOSMemory()
	self := measure.Process{Pid: os.Getpid()}
	server, own := r.server.usage(), usage(self)
	return func() {
		n, now := r.fleet.Connected(), usage(self)
		r.report.Server.BytesPerEdge = growth(server, r.server.usage(), n)
		r.report.Tool.BytesPerEdge = growth(own, now, n)
		if now != nil {
			r.report.Tool.ResidentBytes = &now.Resident
		}
	}
}

// connect connects the fleet and waits for it, where the scenario waits. A run whose Edges couldn't all be connected goes on
// with those that could.
func (r *run) connect(ctx context.Context) error {
	e := &r.report.Edges
	e.Target = r.scenario.Edges.Count
	r.connecting = time.Now()
	r.fleet.Connect()
	if r.scenario.AtOnce {
		return nil
	}
	wait := connectTime
	if rate := r.scenario.Edges.ConnectRate; rate > 0 {
		wait += time.Duration(e.Target) * time.Second / time.Duration(rate)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, _ = r.fleet.AwaitAll(ctx)
	if r.fleet.Connected() == 0 && !errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("not one Edge could be connected at %s in %s: %v", r.target.EdgeWire, wait, r.fleet.Stats().Troubles)
	}
	return nil
}

// load runs traffic and disturbances side by side, and then lets the fleet come back.
func (r *run) load(ctx context.Context) {
	r.phases.set(Loading)
	cpu := r.server.usage()
	began := time.Now()
	r.report.TrafficAtS = began.Sub(r.began).Seconds()
	disturbing, enough := context.WithCancel(ctx)
	var disturbances sync.WaitGroup
	for _, d := range r.scenario.Disturb {
		disturbances.Go(func() { r.disturb(disturbing, began, d) })
	}
	r.traffic.Run(ctx)
	r.report.DurationS = min(time.Since(began), r.scenario.Duration).Seconds()
	r.server.spent(cpu, time.Since(began), r.traffic.Status.Counts().OK, &r.report.Server)
	r.phases.set(Recovering)
	recovering, stop := context.WithTimeout(ctx, recoverTime)
	_, _ = r.fleet.AwaitAll(recovering)
	stop()
	enough()
	disturbances.Wait()
}

func (r *run) close() {
	r.phases.set(Closing)
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	r.report.Edges.Cut = r.fleet.Close(ctx)
}

// tell fills the report with what was counted.
func (r *run) tell() {
	stats := r.fleet.Stats()
	e := &r.report.Edges
	e.Reconnects, e.Hellos, e.Heartbeats, e.Snapshots, e.Events = stats.Reconnects, stats.Hellos, stats.Heartbeats, stats.Snapshots, stats.Events
	e.Troubles = stats.Troubles
	if !stats.FirstFull.IsZero() {
		took := stats.FirstFull.Sub(r.connecting)
		e.ConnectMS, e.ConnectRate = ms(took), number(float64(e.Target)/took.Seconds())
	}
	t := r.traffic
	for _, one := range []struct {
		into  *report.Requests
		meter *measure.Meter
	}{
		{&r.report.Status, t.Status}, {&r.report.Summaries, t.Summaries}, {&r.report.Commands, t.Commands}, {&r.report.Settled, t.Settled},
		{&r.report.Clients, t.Clients}, {&r.report.Events, t.Events}, {&r.report.Readers, t.Readers},
	} {
		*one.into = report.Of(one.meter.Counts(), one.meter.Histogram())
	}
	r.report.Gaps = t.Gaps.Load()
	r.report.Totals = r.ledger.Totals()
	r.report.Reconnect = reconnects(r.storms)
}

// reconnects sums storms up; one that never ended leaves no longest.
func reconnects(storms []report.Storm) report.Reconnect {
	all := report.Reconnect{Storms: storms}
	for _, s := range storms {
		if s.Back == nil {
			all.All = nil
			return all
		}
		if all.All == nil || *s.Back > *all.All {
			all.All = s.Back
		}
	}
	return all
}

func ms(d time.Duration) *float64 { return number(float64(d) / float64(time.Millisecond)) }

func number(v float64) *float64 { return &v }

// some picks a share of all Edges, or at least one.
func (r *run) some(percent int) []int {
	n := r.scenario.Edges.Count
	return rand.Perm(n)[:max(1, n*percent/100)]
}

// httpAddress is the host:port of an HTTP URL.
func httpAddress(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	return u.Host, nil
}
