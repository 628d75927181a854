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

// field is some simulated Edges, the load on them, and its books.
type field struct {
	name    string
	edges   int
	ledger  *ledger.Ledger
	fleet   *fleet.Fleet
	traffic *traffic.Traffic

	stop    context.CancelFunc
	running sync.WaitGroup
}

// where is what a field talks to.
type where struct{ http, edgeWire, clientWire string }

// rates are a field's requests a second, and its live readers.
type rates struct{ status, commands, clients, readers int }

const (
	// A request's own time is much longer than a machine is busy for, so that what isn't answered was lost.
	requestTime   = 5 * time.Second
	phaseDelay    = 100 * time.Millisecond
	phasedPercent = 50
	firstRetry    = 100 * time.Millisecond
	lastRetry     = time.Second // so that the Control Plane has most of the time that an Edge has to be back
	pushEvery     = 5 * time.Second
	closeTime     = 10 * time.Second
	connectTime   = 60 * time.Second
)

func newField(name string, w where, edges int, r rates) *field {
	prefix := name + "-"
	f := &field{name: name, edges: edges, ledger: ledger.New(prefix, edges)}
	f.fleet = fleet.New(fleet.Options{
		Address: w.edgeWire, Count: edges, IDPrefix: prefix, Nodes: 2, Providers: 2, PushInterval: pushEvery,
		Reconnect: firstRetry, ReconnectMax: lastRetry, CommandPhaseDelay: phaseDelay, Ledger: f.ledger,
	})
	f.traffic = traffic.New(traffic.Options{
		HTTP: w.http, Wire: w.clientWire, Edges: edges, IDPrefix: prefix, Ledger: f.ledger, Calm: f.fleet.Calm,
		Duration:   24 * time.Hour, // it is ended
		StatusRate: r.status, SummaryRate: 1, CommandRate: r.commands, ClientRate: r.clients,
		Timeout: requestTime, CommandTimeout: requestTime, PhasedPercent: phasedPercent, PhaseDelay: phaseDelay, Readers: r.readers,
	})
	return f
}

func (f *field) id(edge int) string { return ledger.EdgeID(f.name+"-", edge) }

// begin connects all Edges and begins the load.
func (f *field) begin(ctx context.Context) error {
	f.fleet.Connect()
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if _, err := f.fleet.AwaitAll(connecting); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	f.stop = stop
	f.running.Go(func() { f.traffic.Run(running) })
	return nil
}

// endTraffic returns when what was asked is answered.
func (f *field) endTraffic() {
	if f.stop != nil {
		f.stop()
	}
	f.running.Wait()
}

// close ends everything; a second call does nothing.
func (f *field) close() {
	f.endTraffic()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	f.fleet.Close(ctx)
}

// whole tells whether each of its Edges is connected, and those that were disturbed are calm again.
func (f *field) whole() bool {
	if f.fleet.Connected() < f.edges {
		return false
	}
	for i := range f.edges {
		if !f.calm(i) {
			return false
		}
	}
	return true
}

func (f *field) calm(edge int) bool {
	_, calm := f.fleet.Calm(edge)
	return calm
}

// books are what must stay at zero, by name.
func (f *field) books() map[string]uint64 {
	t := f.ledger.Totals()
	b := map[string]uint64{"lost": t.Lost, "duplicated": t.Duplicated, "misrouted": t.Misrouted,
		"executed twice": t.ExecutedTwice, "out of order": t.OutOfOrder}
	for name, m := range f.meters() {
		for kind, n := range m.Counts().Kinds {
			if kind != "lost" { // the ledger has it
				b[name+": "+kind] = n
			}
		}
	}
	return b
}

func (f *field) meters() map[string]*measure.Meter {
	t := f.traffic
	return map[string]*measure.Meter{"status": t.Status, "summary": t.Summaries, "command": t.Commands, "settling": t.Settled,
		"client": t.Clients, "stream": t.Readers}
}
