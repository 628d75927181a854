//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestGrown(t *testing.T) {
	for _, c := range []struct {
		name        string
		before, now map[string]uint64
		want        string
	}{
		{"nothing", map[string]uint64{"lost": 0}, map[string]uint64{"lost": 0}, ""},
		{"told already", map[string]uint64{"lost": 2}, map[string]uint64{"lost": 2}, ""},
		{"more", map[string]uint64{"lost": 2}, map[string]uint64{"lost": 5, "duplicated": 0}, "lost: 3"},
		{"new", nil, map[string]uint64{"b": 1, "a": 2}, "a: 2; b: 1"},
		{"a late answer isn't lost after all", map[string]uint64{"lost": 2}, map[string]uint64{"lost": 1}, ""},
	} {
		if got := grown(c.before, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLeak(t *testing.T) {
	before := figures{Descriptors: 10, Goroutines: 20}
	for _, c := range []struct {
		now  figures
		want string
	}{
		{figures{10, 20}, ""},
		{figures{10 + spare, 20 + spare}, ""},
		{figures{5, 5}, ""},
		{figures{11 + spare, 20}, fmt.Sprintf("%d descriptors, 10 at the start", 11+spare)},
		{figures{10, 21 + spare}, fmt.Sprintf("%d goroutines, 20 at the start", 21+spare)},
	} {
		if got := c.now.leak(before); got != c.want {
			t.Errorf("%+v: %q, want %q", c.now, got, c.want)
		}
	}
}

func TestChaosVerdict(t *testing.T) {
	plan := plan{Seed: 9, Faults: []fault{{Number: 1, Kind: linksReset, Edges: []int{4}}, {Number: 2, Kind: linksReset, Edges: []int{5}}, {Number: 3, Kind: edgeKilled, Edges: []int{0}}}}
	whole := func() *chaosReport {
		r := newChaosReport(plan)
		r.Done = 3
		r.took = map[faultKind][]time.Duration{linksReset: {3 * time.Second, time.Second}, edgeKilled: {time.Millisecond}}
		return r
	}
	for name, c := range map[string]struct {
		spoil func(*chaosReport)
		ok    bool
	}{
		"all held": {func(*chaosReport) {}, true},
		"something didn't": {func(r *chaosReport) {
			r.Failures = []failure{{What: "it", Fault: &plan.Faults[1], Log: []string{"last words\n"}}}
		}, false},
		"not all was done": {func(r *chaosReport) { r.Done = 2 }, false},
		"interrupted":      {func(r *chaosReport) { r.Interrupted = true }, false},
	} {
		r := whole()
		c.spoil(r)
		r.judge()
		if r.OK != c.ok || strings.Contains(r.text(), "all held") != c.ok {
			t.Errorf("%s: ok %v\n%s", name, r.OK, r.text())
		}
		if len(r.Recoveries) != 2 || r.Recoveries[1] != (recovery{linksReset, 2, 3000, 3000}) {
			t.Errorf("%s: recoveries %+v", name, r.Recoveries)
		}
		for _, f := range r.Failures {
			for _, want := range []string{"seed 9", "2, links reset", "[5]", "last words", f.What} {
				if !strings.Contains(r.text(), want) {
					t.Errorf("%s: %q isn't told:\n%s", name, want, r.text())
				}
			}
		}
	}
}

func TestOverrun(t *testing.T) {
	for _, c := range []struct {
		within, took time.Duration
		want         string
	}{
		{recoverTime, 600 * time.Second, ""},
		{recoverTime, 660 * time.Second, ""},
		{recoverTime, 661 * time.Second, "500 faults took 11m1s, and were to take 10m0s"},
		{time.Second, 661 * time.Second, "500 faults took 11m1s, and were to take 10m0s"},
		{recoverTime + time.Second, 1160 * time.Second, ""},
		{recoverTime + time.Second, 1161 * time.Second, "500 faults took 19m21s, and were to take 10m0s"},
	} {
		o := chaosOptions{faults: 500, duration: 10 * time.Minute, within: c.within}
		if got := o.overrun(c.took); got != c.want {
			t.Errorf("within %v, %v: %q, want %q", c.within, c.took, got, c.want)
		}
	}
}

func TestTrend(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		flat   bool
	}{
		{"the same", []float64{100, 100, 100}, true},
		{"one that is off doesn't count", []float64{100, 900, 100, 50, 50, 50, 101, 100, 1}, true},
		{"five more", []float64{100, 100, 100, 100, 105, 105}, true},
		{"six more", []float64{100, 100, 100, 100, 106, 106}, false},
		{"six less", []float64{100, 100, 94}, false},
	} {
		if got := trendOf(c.values); got.Flat != c.flat {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// The page says how many readers there were, and that the buffers were full only of a run that filled them.
func TestSoakPageSaysWhatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		edges, commands, readers int
		duration                 time.Duration
		want                     string
	}{
		"the default": {2000, 300, 2, soakTime, "live readers: 2. Samples count from 4m0s on, when the daemon's buffers were full: " +
			"an Edge had been sent 36 commands on average, of which 11 are kept.\n"},
		"short":                        {2000, 300, 3, 3 * time.Minute, "live readers: 3. Samples count from 1m30s on.\n"},
		"long, of more Edges":          {10_000, 300, 0, time.Hour, "live readers: 0. Samples count from 4m0s on.\n"},
		"too few for the fleet's ones": {1, 30, 1, 8 * time.Minute, "live readers: 1. Samples count from 4m0s on.\n"},
	} {
		o := soakOptions{edges: c.edges, duration: c.duration, rates: rates{commands: c.commands, readers: c.readers}}
		if text := newSoakReport(o).text(); !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q:\n%s", name, c.want, text)
		}
	}
}

func TestSoakOptions(t *testing.T) {
	for name, c := range map[string]struct {
		edges    int
		duration time.Duration
		page     string
		ok       bool
	}{
		"short, and no page":     {2000, 3 * time.Minute, "", true},
		"a page of a whole run":  {2000, soakTime, "page.md", true},
		"a page of a longer one": {2000, 2 * soakTime, "page.md", true},
		"a page of a short run":  {2000, soakTime - time.Second, "page.md", false},
		"no Edges":               {0, soakTime, "", false},
		"too short":              {2000, time.Second, "", false},
	} {
		o := soakOptions{edges: c.edges, duration: c.duration}
		if err := o.check(c.page); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSoakVerdict(t *testing.T) {
	const heap, fds = 0, 2
	whole := func() *soakReport {
		r := newSoakReport(soakOptions{edges: 5, duration: 60 * time.Second})
		r.Books = map[string]uint64{"lost": 0}
		r.Requests = map[string]requests{"status": {Due: 1000, Sent: 1000, OK: 950, Excused: 50, NotSent: 70}, "stream": {Sent: 2, OK: 2}}
		for i := 1; i <= 9; i++ {
			s := sample{AtS: float64(10 * i), Values: [4]float64{10 << 20, 50, 60, 30 << 20}}
			if s.AtS <= r.WarmS {
				s.Values[heap] = 1 // grows while it is warm-up, and may
			}
			r.Samples = append(r.Samples, s)
		}
		return r
	}
	for name, c := range map[string]struct {
		spoil func(*soakReport)
		wrong string
	}{
		"all held":                          {func(*soakReport) {}, ""},
		"more open":                         {func(r *soakReport) { r.Samples[7].Values[fds], r.Samples[8].Values[fds] = 70, 70 }, "descriptors moved by +16.7%"},
		"nothing was answered":              {func(r *soakReport) { r.Requests["status"] = requests{Due: 1000} }, "status: 0 of 1000 that were due were answered as they must be"},
		"a tenth wasn't":                    {func(r *soakReport) { r.Requests["status"] = requests{Due: 1000, Sent: 1000, OK: 899} }, "status: 899 of 1000"},
		"nothing was sent":                  {func(r *soakReport) { r.Requests["status"] = requests{Due: 1000, NotSent: 1000} }, "status: 0 of 1000"},
		"too much was excused":              {func(r *soakReport) { r.Requests["settling"] = requests{Sent: 100_000, Excused: 5354} }, "settling: 5354 of 100000 were excused"},
		"as much as may be":                 {func(r *soakReport) { r.Requests["settling"] = requests{Sent: 100_000, Excused: 5353} }, ""},
		"a tenth of a short run":            {func(r *soakReport) { r.Requests["command"] = requests{Due: 240, Sent: 240, OK: 216, Excused: 24} }, ""},
		"an eighth of a short run":          {func(r *soakReport) { r.Requests["command"] = requests{Due: 240, Sent: 240, OK: 218, Excused: 30} }, "command: 30 of 240 were excused"},
		"one that was due in a short run":   {func(r *soakReport) { r.Requests["client"] = requests{Due: 11.9, Sent: 10, OK: 10} }, ""},
		"all that were due in a short run":  {func(r *soakReport) { r.Requests["client"] = requests{Due: 11.9} }, "client: 0 of 12"},
		"one Edge that left in a short run": {func(r *soakReport) { r.Requests["command"] = requests{Due: 40, Sent: 40, OK: 37, Excused: 3} }, ""},
		"a stream that is silent":           {func(r *soakReport) { r.Requests["event"] = requests{Due: 1000, Sent: 500} }, "event: 0 of 1000"},
		"a stream that stops":               {func(r *soakReport) { r.Requests["event"] = requests{Due: 1000, Sent: 500, OK: 899} }, "event: 899 of 1000"},
		"an Edge's events don't come":       {func(r *soakReport) { r.Books["overdue"] = 1 }, "overdue: 1"},
		"no Edge left":                      {func(r *soakReport) { r.ChurnDue, r.CameBack = 2400, 0 }, "Edges left and came back 0 times, and 2400 were due"},
		"a tenth more were to leave":        {func(r *soakReport) { r.ChurnDue, r.CameBack = 2400, 2159 }, "came back 2159 times"},
		"nearly all left that were to":      {func(r *soakReport) { r.ChurnDue, r.CameBack = 2400, 2160 }, ""},
		"an Edge is away":                   {func(r *soakReport) { r.Missing = 1 }, "Edges that didn't come back: 1"},
		"one was lost":                      {func(r *soakReport) { r.Books["lost"] = 1 }, "lost: 1"},
		"it panicked":                       {func(r *soakReport) { r.Broken = []string{"panic: x"} }, "panic: x"},
		"too short":                         {func(r *soakReport) { r.Samples = r.Samples[:5] }, "too little was seen"},
		"ended too soon":                    {func(r *soakReport) { r.Interrupted = true }, "it was interrupted"},
	} {
		r := whole()
		c.spoil(r)
		r.judge()
		if r.OK != (c.wrong == "") || !strings.Contains(r.text(), c.wrong) || strings.Contains(r.text(), "All held") != r.OK {
			t.Errorf("%s: ok %v\n%s", name, r.OK, r.text())
		}
	}
}
