//go:build linux

package main

import (
	"context"
	"sync"
	"time"

	"iop/load/fleet"
	"iop/load/ledger"
	"iop/load/measure"
	"iop/load/traffic"
)

// testbed is some simulated Edges, the load on them, and its books.
type testbed struct {
	name    string
	edges   int
	rates   rates
	ledger  *ledger.Ledger
	fleet   *fleet.Fleet
	traffic *traffic.Traffic

	stop    context.CancelFunc
	running sync.WaitGroup
	unheard uint64 // events that Edges said before there were live readers
}

// where is what a testbed talks to.
type where struct{ http, edgeWire, clientWire string }

// rates are a testbed's requests a second, and its live readers.
type rates struct{ status, commands, clients, readers int }

// of gives the rate of a meter's requests; 0 where they have none.
func (r rates) of(meter string) int {
	return map[string]int{"status": r.status, "summary": summaryRate, "command": r.commands, "client": r.clients}[meter]
}

const (
	// A request's own time is much longer than a machine is busy for, so that what isn't answered was lost.
	requestTime   = 5 * time.Second
	phaseDelay    = 100 * time.Millisecond
	phasedPercent = 50
	firstRetry    = 100 * time.Millisecond
	lastRetry     = time.Second // so that the Control Plane has most of the time that an Edge has to be back
	pushEvery     = 5 * time.Second
	closeTime     = 10 * time.Second
	endless       = 24 * time.Hour // what lasts until it is ended
	connectTime   = 60 * time.Second
	summaryRate   = 1
)

func newTestbed(name string, w where, edges int, r rates) *testbed {
	prefix := name + "-"
	b := &testbed{name: name, edges: edges, rates: r, ledger: ledger.New(prefix, edges)}
	b.fleet = fleet.New(fleet.Options{
		Address: w.edgeWire, Count: edges, IDPrefix: prefix, Nodes: 2, Providers: 2, PushInterval: pushEvery,
		Reconnect: firstRetry, ReconnectMax: lastRetry, CommandPhaseDelay: phaseDelay, Ledger: b.ledger,
	})
	b.traffic = traffic.New(traffic.Options{
		HTTP: w.http, Wire: w.clientWire, Edges: edges, IDPrefix: prefix, Ledger: b.ledger, Calm: b.fleet.Calm,
		Duration:   endless,
		StatusRate: r.status, SummaryRate: summaryRate, CommandRate: r.commands, ClientRate: r.clients,
		Timeout: requestTime, CommandTimeout: requestTime, PhasedPercent: phasedPercent, PhaseDelay: phaseDelay, Readers: r.readers,
	})
	return b
}

func (b *testbed) id(edge int) string { return ledger.EdgeID(b.name+"-", edge) }

// begin connects all Edges and begins the load.
func (b *testbed) begin(ctx context.Context) error {
	b.fleet.Connect()
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if _, err := b.fleet.AwaitAll(connecting); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	b.stop = stop
	b.unheard = b.fleet.Stats().Events
	b.running.Go(func() { b.traffic.Run(running) })
	return nil
}

// endTraffic returns when what was asked is answered, and commands that go on are at their end.
func (b *testbed) endTraffic() {
	if b.stop != nil {
		b.traffic.Rest(b.stop)
	}
	b.running.Wait()
}

// close ends everything; a second call does nothing.
func (b *testbed) close() {
	b.endTraffic()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	b.fleet.Close(ctx)
}

// whole tells whether all its Edges are well.
func (b *testbed) whole() bool { return b.missing() == 0 }

// missing is how many of its Edges aren't.
func (b *testbed) missing() (n int) {
	for i := range b.edges {
		if !b.well(i) {
			n++
		}
	}
	return n
}

// well tells whether an Edge is connected and, if it was disturbed, calm again.
func (b *testbed) well(edge int) bool { return b.calm(edge) && b.fleet.IsConnected(edge) }

func (b *testbed) calm(edge int) bool {
	_, calm := b.fleet.Calm(edge)
	return calm
}

// books are what must stay at zero, by name.
func (b *testbed) books() map[string]uint64 {
	t := b.ledger.Totals()
	books := map[string]uint64{"lost": t.Lost, "duplicated": t.Duplicated, "misrouted": t.Misrouted,
		"executed twice": t.ExecutedTwice, "out of order": t.OutOfOrder, "skipped": t.Skipped, "overdue": b.traffic.Overdue(),
		"gaps": b.traffic.UnexcusedGaps.Load()}
	meters := b.meters()
	meters["event"] = b.traffic.Events
	for name, m := range meters {
		for kind, n := range m.Counts().Kinds {
			if kind != "lost" { // the ledger has it
				books[name+": "+kind] = n
			}
		}
	}
	return books
}

// troubles are those of Edges that this side had done nothing to: links that ended, refusals, no answer. They must stay at zero, too,
// but for a daemon that isn't there.
func (b *testbed) troubles() map[string]uint64 {
	troubles := map[string]uint64{}
	for kind, n := range b.fleet.Stats().Troubles {
		troubles["edge: "+kind] = n
	}
	return troubles
}

// requests are what became of what was asked for so long, by kind, and of the Edges' events.
func (b *testbed) requests(asked time.Duration) map[string]requests {
	all := map[string]requests{"event": b.events()}
	for name, m := range b.meters() {
		n := m.Counts()
		all[name] = requests{Due: asked.Seconds() * float64(b.rates.of(name)), Sent: n.Sent, OK: n.OK, Excused: n.Excused, NotSent: n.NotSent}
	}
	return all
}

// events: each is due to every live reader.
func (b *testbed) events() requests {
	said := b.fleet.Stats().Events - b.unheard
	return requests{Due: float64(said) * float64(b.rates.readers), Sent: said, OK: b.traffic.Given()}
}

func (b *testbed) meters() map[string]*measure.Meter {
	t := b.traffic
	return map[string]*measure.Meter{"status": t.Status, "summary": t.Summaries, "command": t.Commands, "settling": t.Settled,
		"client": t.Clients, "stream": t.Readers}
}
