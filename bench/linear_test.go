package main

import (
	"io"
	"math"
	"strings"
	"testing"
)

// set replaces what the Control Plane was measured with at one place.
func (r *results) set(figure, unit string, edges int, values ...float64) {
	r.samples[place{figure, unit, edges, plane}] = values
}

func TestLinear(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *results)
		want   string // what isn't held; empty: all is
	}{
		"as it is": {func(*results) {}, ""},
		"a total that grows nine times as much for five times as many": {func(r *results) {
			r.set("Gather", timeEach, 1000, 1e6)
			r.set("Gather", timeEach, 5000, 9e6)
		}, "all Edges asked, s from 1,000 to 5,000 Edges: 1.80 times as fast as they, 1.25 are allowed"},
		"what an Edge takes": {func(r *results) { r.set("IdleHello", bytesEach, 19_000, 2600) },
			"bytes an idle Edge, hello alone from 10,000 to 19,000 Edges: 1.30 times"},
		"what an operation takes": {func(r *results) {
			for _, n := range r.sizes() {
				r.set("Push", cpuEach, n, 100*math.Pow(float64(n), 0.1)) // under 1.25 from each size to the next, 1.34 over all
			}
		}, "CPU a pushed snapshot, µs from 1,000 to 19,000 Edges: 1.34 times"},
		"a rate that falls": {func(r *results) {
			r.set("Hello", rateOf, 19_000, r.samples[place{"Hello", rateOf, 10_000, plane}][0]/2)
		},
			"hellos a second from 10,000 to 19,000 Edges"},
		"one goroutine more": {func(r *results) {
			for i, n := range r.sizes() {
				r.set("IdleHello", goroutinesEach, n, float64(i)*1e-4)
			}
		}, ""},
		"a goroutine each, from some size on": {func(r *results) {
			for i, n := range r.sizes() {
				r.set("IdleHello", goroutinesEach, n, float64(i/2))
			}
		}, "goroutines an idle Edge from 5,000 to 10,000 Edges"},
		"what was no number": {func(r *results) { r.set("Storm", timeEach, 5000, math.NaN()) }, "all back after a cut, s from 1,000 to 5,000"},
	} {
		r := example()
		for _, n := range r.sizes() { // what isn't of the whole fleet doesn't depend on its size
			for _, f := range figures() {
				for _, u := range f.per {
					if u.name != timeEach && u.name != cpuAMinute {
						r.set(f.name, u.name, n, 2000)
					}
				}
			}
		}
		c.change(r)
		switch got := r.linear(figures()); {
		case c.want == "" && got.outcome != held:
			t.Errorf("%s: %s", name, got)
		case c.want != "" && (got.outcome != notHeld || !strings.Contains(got.found, c.want)):
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	if got := newResults(io.Discard).linear(figures()); got.outcome != notMeasured {
		t.Error(got)
	}
}

// TestCostsAreJudged: whatever an Edge or something that is done for one costs is among the costs.
func TestCostsAreJudged(t *testing.T) {
	none := map[string]bool{emptyBytes: true, lostOf: true}
	for _, f := range figures() {
		for _, u := range f.per {
			if (u.total == nil) != none[u.name] {
				t.Errorf("%s %s: %v", f.name, u.name, u.total == nil)
			}
		}
	}
}

func TestSlack(t *testing.T) {
	for name, c := range map[string]struct {
		samples []float64
		want    float64
	}{
		"once":            {[]float64{100}, 1.25},
		"always the same": {[]float64{100, 100, 100}, 1.25},
		"a tenth":         {[]float64{90, 100, 110}, 1.25 * (1 + 4*0.1*1.25*math.Sqrt(2.0/3))},
		"anything":        {[]float64{1, 100, 1000}, 2},
	} {
		r := newResults(io.Discard)
		r.set("Push", cpuEach, 1000, c.samples...)
		r.set("Push", cpuEach, 5000, c.samples...)
		if got := r.slack("Push", cpuEach); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
