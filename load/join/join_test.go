package join

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"iop/load"
	"iop/load/ledger"
	"iop/load/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSharesAreTheWhole(t *testing.T) {
	whole := load.Scenario{Edges: load.Edges{Count: 1000, IDPrefix: "load-", ConnectRate: 10},
		Traffic: load.Traffic{StatusRate: 500, SummaryRate: 1, CommandRate: 7, Readers: 1},
		Disturb: []load.Disturbance{{Kind: load.Churn, Rate: 100}}}
	const n = 3
	var edges, status, summaries, commands, churn int
	prefixes := map[string]bool{}
	for i := range n {
		s := shareOf(whole, i, n)
		edges += s.Edges.Count
		status += s.Traffic.StatusRate
		summaries += s.Traffic.SummaryRate
		commands += s.Traffic.CommandRate
		churn += s.Disturb[0].Rate
		prefixes[s.Edges.IDPrefix] = true
		if s.Traffic.Readers != 1 || s.Edges.ConnectRate < 3 {
			t.Errorf("process %d has %d readers and connects %d a second", i, s.Traffic.Readers, s.Edges.ConnectRate)
		}
	}
	if edges != 1000 || status != 500 || summaries != 1 || commands != 7 || churn != 100 || len(prefixes) != n {
		t.Errorf("together: %d Edges, %d, %d, %d and %d a second, prefixes %v", edges, status, summaries, commands, churn, prefixes)
	}
	if whole.Disturb[0].Rate != 100 {
		t.Error("the whole was changed")
	}
}

func TestAResultTravels(t *testing.T) {
	m := measure.NewMeter()
	m.Begin()
	m.End(5*time.Millisecond, measure.Outcome{})
	m.End(7*time.Millisecond, measure.Outcome{Kind: "edge_busy"})
	sent := &load.Result{StartedAt: time.Unix(1, 0).UTC(), Processes: 1, Target: 7, Totals: ledger.Totals{Lost: 2}}
	for _, tally := range []*measure.Tally{&sent.Status, &sent.Summaries, &sent.Commands, &sent.Settled, &sent.Clients, &sent.Events, &sent.Readers} {
		*tally = m.Tally()
	}
	b, err := json.Marshal(message{Result: sent})
	if err != nil {
		t.Fatal(err)
	}
	var got message
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent.Status.Counts, got.Result.Status.Counts); diff != "" {
		t.Errorf("counts (-sent +got):\n%s", diff)
	}
	if !got.Result.Status.Times.Equals(sent.Status.Times) || got.Result.Target != 7 || got.Result.Totals.Lost != 2 {
		t.Errorf("got %+v", got.Result)
	}
	sum := load.Merge([]*load.Result{sent, got.Result})
	if sum.Status.OK != 2 || sum.Status.Times.TotalCount() != 4 || sum.Target != 14 || sum.Totals.Lost != 4 || sum.Processes != 2 || sum.Status.Kinds["edge_busy"] != 2 {
		t.Errorf("the sum of both: %+v", sum)
	}
}

func TestStrangersAreNotTaken(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, says := range []string{"GET / HTTP/1.1\r\n\r\n", `{"version":99}` + "\n", ""} {
		c, err := net.Dial("tcp", l.Address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(says)); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		defer c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := l.Await(ctx, 1, func(name string) { t.Errorf("%s was taken", name) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it waited until %v", err)
	}
}

// A process that is lost fails the run, and stops the others.
func TestALostProcess(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := net.Dial("tcp", l.Address())
		if err != nil {
			t.Error(err)
			return
		}
		line := newLine(c)
		if err := line.greet(); err != nil {
			t.Error(err)
		}
		_, _ = line.hear() // its part
		_ = c.Close()
	}()
	if err := l.Await(t.Context(), 1, func(string) {}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := load.Scenario{Duration: time.Hour, Edges: load.Edges{Count: 2, IDPrefix: "t-", Reconnect: time.Second, ReconnectMax: time.Second}}
	_, err = l.Run(t.Context(), load.Target{HTTP: "http://127.0.0.1:1", EdgeWire: "127.0.0.1:1"}, s, func(measure.Sample) {})
	if err == nil || !strings.Contains(err.Error(), "was lost") {
		t.Errorf("the run ends with %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestNoLeader(t *testing.T) {
	err := Work(t.Context(), "127.0.0.1:1", func(*load.Target) {}, func(Part) error { return nil }, func(measure.Sample) {})
	if err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Error(err)
	}
}
