package load

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iop/load/ledger"
	"iop/load/measure"
	"iop/load/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func scenario() Scenario {
	return Scenario{Name: "test", Duration: time.Second,
		Edges: Edges{Count: 3, IDPrefix: "t-", Nodes: 1, Providers: 1, PushInterval: 50 * time.Millisecond, Reconnect: 10 * time.Millisecond, ReconnectMax: 100 * time.Millisecond},
		Traffic: Traffic{StatusRate: 100, CommandRate: 50, Readers: 1, PhaseDelay: time.Millisecond,
			Timeout: 20 * time.Second, CommandTimeout: 20 * time.Second}}
}

func runAgainst(t *testing.T, l *liar, s Scenario) *report.Report {
	t.Helper()
	r, err := Run(t.Context(), Target{HTTP: l.web.URL, EdgeWire: l.edges.Addr().String()}, s, func(measure.Sample) {})
	if err != nil {
		t.Fatal(err)
	}
	return r.Report(&s, nil)
}

// What a Control Plane does wrong is found, and what it does right isn't blamed.
func TestARunFindsLies(t *testing.T) {
	for name, c := range map[string]struct {
		lie   lie
		count func(ledger.Totals) uint64
	}{
		"honest":                 {none, nil},
		"asks another Edge":      {misroutes, func(o ledger.Totals) uint64 { return o.Misrouted }},
		"gives one answer twice": {repeats, func(o ledger.Totals) uint64 { return o.Duplicated + o.Misrouted }},
		"loses answers":          {swallows, func(o ledger.Totals) uint64 { return o.Lost }},
		"sends commands twice":   {sendsTwice, func(o ledger.Totals) uint64 { return o.ExecutedTwice }},
		"mixes up results":       {mixesUp, func(o ledger.Totals) uint64 { return o.Misrouted }},
		"swaps answers":          {swaps, func(o ledger.Totals) uint64 { return o.Misrouted }},
		"skips events":           {skips, func(o ledger.Totals) uint64 { return o.Skipped }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runAgainst(t, startLiar(t, c.lie), scenario())
			if c.count == nil {
				if !r.OK || r.Totals != (ledger.Totals{}) || r.Status.OK != r.Status.Sent || r.Commands.OK != r.Commands.Sent || r.Status.Sent == 0 || r.Events.OK == 0 {
					t.Errorf("of an honest one: totals %+v, status %+v, commands %+v, %d events", r.Totals, r.Status.ErrorKinds, r.Commands.ErrorKinds, r.Events.OK)
				}
				return
			}
			if r.OK || c.count(r.Totals) == 0 {
				t.Errorf("it wasn't found: totals %+v, ok %v", r.Totals, r.OK)
			}
		})
	}
}

func TestARunReports(t *testing.T) {
	l := startLiar(t, none)
	s := scenario()
	s.Disturb = []Disturbance{{Kind: Drop, At: 300 * time.Millisecond, Percent: 100}}
	r := runAgainst(t, l, s)
	if r.Edges.Target != 3 || r.Edges.Connected != 3 || r.Edges.Reconnects != 3 || r.Edges.ConnectMS == nil || r.Edges.Cut != 0 {
		t.Errorf("edges %+v", r.Edges)
	}
	if len(r.Reconnect.Storms) != 1 || r.Reconnect.All == nil {
		t.Errorf("reconnects %+v", r.Reconnect)
	}
	if r.Status.Sent != 100 || r.Commands.Sent != 50 {
		t.Errorf("%d status reads and %d commands were sent in a second, want 100 and 50", r.Status.Sent, r.Commands.Sent)
	}
	if r.Status.Errors > 0 || r.Totals != (ledger.Totals{}) {
		t.Errorf("what was done on purpose is blamed: %v, %+v", r.Status.ErrorKinds, r.Totals)
	}
	if r.DurationS < 0.9 || r.DurationS > 1.1 {
		t.Errorf("it took %v s", r.DurationS)
	}
	if r.Server.Pid != os.Getpid() { // the liar lives here
		t.Errorf("the server is process %d (%s), want %d", r.Server.Pid, r.Server.Why, os.Getpid())
	}
}

func TestAnInterruptedRunReports(t *testing.T) {
	l := startLiar(t, none)
	s := scenario()
	s.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	r, err := Run(ctx, Target{HTTP: l.web.URL, EdgeWire: l.edges.Addr().String()}, s, func(one measure.Sample) {
		if one.Connected == 3 {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.Connected != 3 {
		t.Errorf("interrupted %v, %d connected", r.Interrupted, r.Connected)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it ended after %v", took)
	}
}

func TestNothingToConnectTo(t *testing.T) {
	l := startLiar(t, none)
	l.edges.Close()
	s := scenario()
	r := newRun(&Target{HTTP: l.web.URL, EdgeWire: l.edges.Addr().String()}, &s, func(measure.Sample) {})
	r.connectTime = 100 * time.Millisecond
	if err := r.perform(t.Context()); err == nil || !strings.Contains(err.Error(), "dial: refused") {
		t.Errorf("a run without one Edge: %v", err)
	}
}

func TestCameLate(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	for _, c := range []struct {
		name          string
		before, after *uint64
		strays, want  uint64
	}{
		{"can't be read", nil, n(5), 0, 0},
		{"can't be read any more", n(5), nil, 0, 0},
		{"some came", n(5), n(9), 0, 4},
		{"those that were made to", n(5), n(9), 3, 1},
		{"not all that were made to", n(5), n(9), 10, 0},
		{"the server began anew", n(5), n(0), 0, 0},
	} {
		if got := cameLate(c.before, c.after, c.strays); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
