// Package traffic is the load on a Control Plane beside its Edges: status reads, fleet summaries, commands, live
// readers and Client hellos, each by its own schedule. Every request is sent when it is due, whether or not the earlier
// ones were answered, and is timed from that moment.
package traffic

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"iop/load/ledger"
	"iop/load/measure"
)

// Options say what is asked and how often.
type Options struct {
	HTTP  string // http://host:port
	Wire  string // ws://host:port/client
	Token string // of an operator; empty: none

	Edges    int
	IDPrefix string
	Ledger   *ledger.Ledger
	// Calm tells whether an Edge is as it should be; see fleet.Fleet.
	Calm func(edge int) (epoch uint32, ok bool)

	Duration, Ramp                                   time.Duration
	StatusRate, SummaryRate, CommandRate, ClientRate int           // a second
	Timeout                                          time.Duration // that a status read gives its Edge
	CommandTimeout                                   time.Duration
	PhasedPercent                                    int           // of the commands, those that go on after their first answer
	PhaseDelay                                       time.Duration // between the phases of those
	Readers, SlowReaders                             int           // of the live stream
}

// Traffic is the load. Run is called once.
type Traffic struct {
	opts     Options
	http     *http.Client // for requests
	streams  *http.Client // for live readers, which have no time limit
	inFlight chan struct{}
	outage   atomic.Uint32 // odd while the server is being restarted
	under    sync.WaitGroup
	live     []*eventReader
	overdue  atomic.Uint64
	enough   <-chan struct{} // the run was ended before its time

	Status, Summaries, Commands, Clients *measure.Meter
	Settled                              *measure.Meter // commands that went on after their first answer, until they were shown as ended
	Events                               *measure.Meter // from the server's stamp to a live reader
	Readers                              *measure.Meter // live streams; each end is an error or excused
	Gaps                                 atomic.Uint64  // that live readers were told of
	UnexcusedGaps                        atomic.Uint64  // of those, the ones that neither an outage nor a reader's slowness excuses
}

const (
	// maxInFlight bounds what is under way. What is due beyond it is counted as not sent: this side is at its limit, or the
	// server is stalled.
	maxInFlight = 8192
	// maxConns bounds the HTTP connections, so that the Edges have the descriptors; a request that waits for one is timed with
	// its wait.
	maxConns = 256
	// idleTime is less than the server's: a request on a connection that is just being closed has no answer, and may not be repeated.
	idleTime = time.Minute
	// grace is how long a caller waits beyond what its Edge is given.
	grace = 5 * time.Second
)

// New makes the load and sends nothing yet.
func New(opts Options) *Traffic {
	t := &Traffic{
		opts:     opts,
		http:     &http.Client{Transport: &http.Transport{MaxConnsPerHost: maxConns, MaxIdleConnsPerHost: maxConns, IdleConnTimeout: idleTime}},
		streams:  &http.Client{Transport: &http.Transport{}},
		inFlight: make(chan struct{}, maxInFlight),
		Status:   measure.NewMeter(), Summaries: measure.NewMeter(), Commands: measure.NewMeter(), Settled: measure.NewMeter(),
		Clients: measure.NewMeter(), Events: measure.NewMeter(), Readers: measure.NewMeter(),
	}
	for i := range opts.Readers + opts.SlowReaders {
		t.live = append(t.live, t.newReader(i < opts.SlowReaders))
	}
	return t
}

// Run sends by schedule until the duration is over or ctx ends, and then waits for what is under way, which is bounded by
// the timeouts.
func (t *Traffic) Run(ctx context.Context) {
	t.enough = ctx.Done()
	defer t.http.CloseIdleConnections()
	defer t.streams.CloseIdleConnections()
	reading, stopReading := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for _, r := range t.live {
		readers.Go(func() { r.run(reading) })
	}
	began := time.Now()
	var schedules sync.WaitGroup
	for _, s := range []struct {
		rate int
		send func(due time.Time)
	}{
		{t.opts.StatusRate, t.sendStatuses()},
		{t.opts.SummaryRate, t.sends(t.Summaries, t.summary)},
		{t.opts.CommandRate, t.sends(t.Commands, t.command)},
		{t.opts.ClientRate, t.sends(t.Clients, t.clientHello)},
	} {
		schedule := Schedule{Rate: float64(s.rate), Ramp: t.opts.Ramp, Duration: t.opts.Duration}
		schedules.Go(func() { schedule.run(ctx, began, s.send) })
	}
	select { // live readers read on even if nothing else is asked
	case <-ctx.Done():
	case <-time.After(t.opts.Duration):
	}
	schedules.Wait()
	t.under.Wait()
	t.Overdue()
	stopReading()
	readers.Wait()
}

// sends gives what sends a request when it is due.
func (t *Traffic) sends(m *measure.Meter, ask func(due time.Time)) func(due time.Time) {
	return func(due time.Time) { t.send(m, func() { ask(due) }) }
}

// send has a request begun, unless too much is under way.
func (t *Traffic) send(m *measure.Meter, ask func()) {
	select {
	case t.inFlight <- struct{}{}:
	default:
		m.Skip()
		return
	}
	m.Begin()
	t.under.Go(func() {
		defer func() { <-t.inFlight }()
		ask()
	})
}

// Outage says that the server is being restarted on purpose, or that it is back.
func (t *Traffic) Outage(on bool) {
	if on == (t.outage.Load()%2 == 1) {
		return
	}
	for _, r := range t.live {
		r.book.Excuse()
	}
	t.outage.Add(1)
}

// Given is how many events of Edges the live readers were given that aren't slow.
func (t *Traffic) Given() (n uint64) {
	for _, r := range t.live {
		if !r.slow {
			n += r.book.Given()
		}
	}
	return n
}

// Overdue looks for events of Edges that live readers should have been given by now, and gives how many it found so far. It finds none in
// an outage, none of those that were said before the end of one, and none that a slow reader has before it.
func (t *Traffic) Overdue() uint64 {
	for _, r := range t.live {
		if !r.slow && t.outage.Load()%2 == 0 {
			t.overdue.Add(r.book.Overdue())
		}
	}
	return t.overdue.Load()
}

// excuse remembers how things were when a request began, and tells at its end whether something was done to the
// Edge, or to the server, meanwhile. For requests that are about no Edge, edge is -1.
func (t *Traffic) excuse(edge int) func() bool {
	outage := t.outage.Load()
	if edge < 0 {
		return func() bool { return t.outageSince(outage) }
	}
	epoch, calm := t.opts.Calm(edge)
	return func() bool {
		now, still := t.opts.Calm(edge)
		return !calm || !still || now != epoch || t.outageSince(outage)
	}
}

// outageSince tells whether there was an outage when their count was this, or has been one since.
func (t *Traffic) outageSince(count uint32) bool { return count%2 == 1 || t.outage.Load() != count }

// Rest waits until nothing is under way, which is bounded by the timeouts, closes the idle connections, and asks for nothing while do
// goes on; what is due then is counted as not sent. Live readers read on.
func (t *Traffic) Rest(do func()) {
	for range cap(t.inFlight) {
		t.inFlight <- struct{}{}
	}
	t.http.CloseIdleConnections()
	do()
	for range cap(t.inFlight) {
		<-t.inFlight
	}
}

func (t *Traffic) anyEdge() (number int, id string) {
	number = rand.IntN(t.opts.Edges)
	return number, ledger.EdgeID(t.opts.IDPrefix, number)
}
