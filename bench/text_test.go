package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// example is one of all figures at four sizes: values of the Control Plane that lie on a line, and twice as much for the baseline.
func example() *results {
	r := newResults(io.Discard)
	for _, n := range []int{1000, 5000, 10_000, 19_000} {
		for _, f := range figures() {
			for _, u := range f.per {
				v := 2e6 + 1000*float64(n)
				if u.name == bytesEach {
					v = 2000
				}
				r.add(place{f.name, u.name, n, plane}, v)
				r.add(place{f.name, u.name, n, baseline}, 2*v)
			}
		}
	}
	return r
}

func TestBenchLine(t *testing.T) {
	got := benchLine("Status", plane, 1000, 20000, statusCPU.per, []float64{116512.3, 5432.1})
	if want := "BenchmarkStatus/n=1000/server=control-plane\t20000\t116500 cpu-ns/op\t5432 op/s"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.000012347: "0.00001235", 123456789: "123500000", -0.5: "-0.5"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) is %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.1234: "0.123", 5.678: "5.68", 45.67: "45.7", 999.6: "1,000", 1234567: "1,234,567", -12345: "-12,345", -0.25: "-0.250", -0.0001: "0.000"} {
		if got := thousands(v); got != want {
			t.Errorf("thousands(%v) is %q, want %q", v, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	r := newResults(io.Discard)
	for _, v := range []float64{90_000, 100_000, 110_000} {
		r.add(place{"Status", cpuEach, 1000, plane}, v)
	}
	for _, v := range []float64{112_500, 125_000, 200_000} {
		r.add(place{"Status", cpuEach, 1000, baseline}, v)
	}
	r.add(place{"Status", cpuEach, 5000, plane}, 100_000)
	text := strings.Join(strings.Fields(r.table([]figure{statusCPU})), " ")
	if want := "Edges Control Plane baseline ratio CPU a status round trip, µs 1,000 100 ±10% 125 ±35% 0.80 5,000 100 – –"; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestVerdicts(t *testing.T) {
	most := target{figure: "A", unit: "u", edges: 10, limit: 5, show: in("u")}
	least := most
	least.atLeast = true
	by := most
	by.byBaseline, by.limit = true, 0.9
	for _, c := range []struct {
		name         string
		t            target
		ours, theirs float64
		want         string
	}{
		{"at most, under", most, 4, 0, "held: 4.00 u"},
		{"at most, over", most, 6, 0, "NOT HELD: 6.00 u"},
		{"at least, over", least, 6, 0, "held: 6.00 u"},
		{"at least, under", least, 4, 0, "NOT HELD: 4.00 u"},
		{"just that", least, 5, 0, "held: 5.00 u"},
		{"by the baseline", by, 8, 10, "held: 0.800 u"},
		{"over the baseline", by, 10, 10, "NOT HELD: 1.00 u"},
		{"no baseline", by, 8, math.NaN(), "not measured: it takes 10 Edges"},
		{"not at that size", most, math.NaN(), 0, "not measured: it takes 10 Edges"},
	} {
		r := newResults(io.Discard)
		if !math.IsNaN(c.ours) {
			r.add(place{"A", "u", 10, plane}, c.ours)
		}
		if !math.IsNaN(c.theirs) {
			r.add(place{"A", "u", 10, baseline}, c.theirs)
		}
		if got := c.t.verdict(r).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestEventsTarget: half a core is half a second of CPU for a thousand events, and a reader that lost some at one time is told of.
func TestEventsTarget(t *testing.T) {
	for name, c := range map[string]struct {
		cpu, lost       float64 // of one measurement of three
		cores, lossless outcome
	}{
		"as wanted": {300_000, 0, held, held},
		"too much":  {600_000, 0, notHeld, held},
		"lost some": {300_000, 0.5, held, notHeld},
		"lost all":  {1_000, 100, held, notHeld},
	} {
		r := newResults(io.Discard)
		for _, lost := range []float64{0, c.lost, 0} {
			r.add(place{"Event", lostOf, 10_000, baseline}, 7)
			r.add(place{"Event", lostOf, 10_000, plane}, lost)
			r.add(place{"Event", cpuEach, 10_000, plane}, c.cpu)
		}
		got := map[string]outcome{}
		for _, v := range judge(r, targets, nil) {
			got[v.wanted] = v.outcome
		}
		if events := "1,000 events a second to 100 readers under half a core"; got[events] != c.cores || got[losslessWanted] != c.lossless {
			t.Errorf("%s: %q, %q", name, got[events], got[losslessWanted])
		}
	}
	if got := newResults(io.Discard).lossless(); got.outcome != notMeasured {
		t.Error(got)
	}
}

// TestTargetsAreMeasured: what a target names exists, and the default sizes have its size.
func TestTargetsAreMeasured(t *testing.T) {
	r := example()
	for _, one := range targets {
		if one.verdict(r).outcome == notMeasured {
			t.Errorf("%s: nothing measures it", one.text)
		}
	}
	if r.lossless().outcome == notMeasured {
		t.Error("nothing measures what readers lose")
	}
	for _, n := range needs {
		if _, ok := n.line(r); !ok {
			t.Errorf("%s: nothing measures it", n.text)
		}
	}
	for _, p := range panels {
		if !r.has(p.figure.name, p.unit) {
			t.Errorf("%s, %s: nothing measures it", p.figure.name, p.unit)
		}
	}
}

func TestOutlook(t *testing.T) {
	text := example().outlook()
	for _, want := range []string{
		"| memory, hello alone | 191 MiB |", // 2,000 bytes × 100,000
		"| `/fleet/summary` | 102 ms | 2.00 ms and 1.00 ms per 1,000 Edges | 0% |",
		"| descriptors (`LimitNOFILE`) | 101,000 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if text := newResults(io.Discard).outlook(); text != "" {
		t.Errorf("of nothing: %s", text)
	}
}

func TestGrowth(t *testing.T) {
	r := example()
	delete(r.samples, place{"Status", cpuEach, 5000, baseline})
	r.set("IdleHello", goroutinesEach, 1000, -0.0001)
	r.samples[place{"IdleHello", goroutinesEach, 1000, baseline}] = []float64{1}
	text := r.growth([]figure{statusCPU, idleHello})
	for _, want := range []string{"| Control Plane / baseline (ratio) | 1,000 | 5,000 | 10,000 | 19,000 | grows as |\n|---|---|---|---|---|---|\n", "| 3,000 / 6,000 (0.50) | 7,000 / – |",
		"| goroutines an idle Edge | 0.000 / 1.00 (0.00) |"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

func TestPicture(t *testing.T) {
	r := example()
	r.add(place{"Gather", timeEach, 1000, plane}, math.NaN())
	picture := r.picture()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, picture)
		}
	}
	if got := strings.Count(picture, "<g "); got != len(panels) {
		t.Errorf("%d panels, want %d", got, len(panels))
	}
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
		t.Error("it has places that are no numbers")
	}
	if strings.Count(picture, "<circle") < 2*4*(len(panels)-1) {
		t.Error("it lacks points")
	}
	if newResults(io.Discard).picture() != "" {
		t.Error("there is a picture of nothing")
	}
}

func TestBetween(t *testing.T) {
	got, err := between("a\n"+beginMark+"\nold\n"+endMark+"\nb\n", "new\n\n")
	if want := "a\n" + beginMark + "\nnew\n" + endMark + "\nb\n"; got != want || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, page := range []string{"", beginMark, endMark + beginMark, endMark} {
		if _, err := between(page, "new"); err == nil {
			t.Errorf("%q was written into", page)
		}
	}
}

func TestAnswer(t *testing.T) {
	body, err := shape{1, 1}.encoded("e")
	if err != nil {
		t.Fatal(err)
	}
	for _, replyTo := range []uint64{0, 1, 300} {
		m := decoded(t, appendAnswer([]byte("x"), body, replyTo)[1:])
		if m.ReplyTo != replyTo || m.Id != 0 || m.GetEdgeStatusResponse().GetEdgeId() != "e" || len(m.GetEdgeStatusResponse().Nodes) != 1 {
			t.Errorf("reply_to %d: %v", replyTo, m)
		}
	}
}

func decoded(t *testing.T, frame []byte) *iopv1.Envelope {
	t.Helper()
	payload, err := wire.NewFrameReader(bytes.NewReader(frame), wire.DefaultMaxFrameBytes).Next()
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
