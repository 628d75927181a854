package main

import (
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// set replaces what the Control Plane was measured with at one place.
func (r *results) set(figure, unit string, edges int, values ...float64) {
	r.samples[place{figure, unit, edges, plane}] = values
}

// TestCurve: three rounds of three turns, at the sizes of the default, of a cost that grows in a known way.
func TestCurve(t *testing.T) {
	for name, c := range map[string]struct {
		cost  func(n float64) float64
		noise float64 // of a round, by the cost
		want  outcome
	}{
		"a line":                              {func(n float64) float64 { return n }, 0, held},
		"a line in noise":                     {func(n float64) float64 { return n }, 0.05, held},
		"a line in much noise":                {func(n float64) float64 { return n }, 1, tooNoisy},
		"a line that starts high":             {func(n float64) float64 { return 5000 + n }, 0.1, held},
		"always the same":                     {func(float64) float64 { return 7 }, 0.2, held},
		"a square":                            {func(n float64) float64 { return n * n }, 0.2, notHeld},
		"n·log n":                             {func(n float64) float64 { return n * math.Log(n) }, 0, notHeld},
		"n·log n in noise":                    {func(n float64) float64 { return n * math.Log(n) }, 0.2, tooNoisy},
		"a third more once out of the caches": {func(n float64) float64 { return n * (1 + math.Min(1, n/10_000)/3) }, 0.02, held},
		"a square behind what stays the same": {func(n float64) float64 { return 2e7 + n*n }, 0.05, notHeld},
		"half as much more at the last size":  {func(n float64) float64 { return n * (1 + math.Floor(n/19_000)/2) }, 0.02, notHeld},
		"nothing":                             {func(float64) float64 { return 0 }, 0, tooNoisy},
		"no number":                           {func(float64) float64 { return math.NaN() }, 0, tooNoisy},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		r := newResults(io.Discard)
		f := figure{name: "F", turns: 3, per: []unit{{name: "u", label: "a cost", total: ofAll}}}
		for _, n := range []int{1000, 5000, 10_000, 19_000} {
			var all []float64
			for range 3 {
				minute := math.Exp(c.noise * random.NormFloat64())
				for range 3 {
					all = append(all, minute*c.cost(float64(n)))
				}
			}
			r.set("F", "u", n, all...)
		}
		if got := r.cost(f, f.per[0]); !got.tells() || got.outcome() != c.want {
			t.Errorf("%s: %s: %q, want %q", name, exponentOf(got), got.outcome(), c.want)
		}
	}
}

// TestLastStep: with one round of the last two sizes it says nothing.
func TestLastStep(t *testing.T) {
	all := curve{{1, 1}, {1, 1.1}, {2, 2}, {3, 9}}
	if _, ok := all.lastStep(); ok || all.outcome() != tooNoisy {
		t.Errorf("it is %q", all.outcome())
	}
	if e, ok := append(all, point{3, 9}).lastStep(); !ok || e.power != 7 {
		t.Errorf("with two of the last: %s", e)
	}
}

// TestExponentOf: the points have a slope of 2, and a standard error that was worked out elsewhere.
func TestExponentOf(t *testing.T) {
	e := exponentOf([]point{{1, 2.1}, {2, 3.9}, {3, 6.2}, {4, 7.8}})
	if math.Abs(e.power-1.94) > 1e-9 || math.Abs(e.off-4.30*0.0906) > 1e-3 {
		t.Errorf("%+v", e)
	}
	if e := exponentOf([]point{{1, 1}, {1, 1.1}, {2, 3}}); math.Abs(e.power-1.95) > 1e-9 || e.off < 1 {
		t.Errorf("one degree of freedom: %+v", e)
	}
}

func TestLinear(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *results)
		want   string
	}{
		"as it is": {func(*results) {}, "held: 23 figures"},
		"the baseline as much": {func(r *results) {
			scale(r, plane, "Push", cpuEach, 0.3)
			scale(r, baseline, "Push", cpuEach, 0.29)
		}, "held: 23 figures"},
		"the baseline less": {func(r *results) {
			scale(r, plane, "Push", cpuEach, 0.3)
			scale(r, baseline, "Push", cpuEach, 0.1)
		}, "NOT HELD: CPU a pushed snapshot, µs: n^1.30 ± 0.00, last step n^1.30 ± 0.00, by the baseline's n^1.20 ± 0.00"},
		"a baseline that does it otherwise": {func(r *results) {
			scale(r, plane, "ListAll", timeEach, 1.5)
			scale(r, baseline, "ListAll", timeEach, 1.5)
		}, "NOT HELD: the whole list in pages of 1,000, ms: n^1.50 ± 0.00, last step n^1.50 ± 0.00"},
		"what an Edge takes": {func(r *results) { scale(r, plane, "IdleHello", bytesEach, 0.5) },
			"NOT HELD: bytes an idle Edge, hello alone: n^1.50 ± 0.00"},
		"a total": {func(r *results) { scale(r, plane, "Gather", timeEach, 1.5) }, "NOT HELD: all Edges asked, s: n^1.50 ± 0.00"},
		"a rate that falls": {func(r *results) { scale(r, plane, "Hello", rateOf, -1) },
			"NOT HELD: hellos a second: n^2.00 ± 0.00"},
		"one goroutine more": {func(r *results) {
			for i, n := range r.sizes() {
				r.set("IdleHello", goroutinesEach, n, float64(i)*1e-4, float64(i)*1e-4)
			}
		}, "held: "},
		"a goroutine each, from some size on": {func(r *results) {
			for i, n := range r.sizes() {
				r.set("IdleHello", goroutinesEach, n, float64(i/2), float64(i/2))
			}
		}, "NOT HELD: goroutines an idle Edge: n^"},
		"what was no number": {func(r *results) { r.set("Storm", timeEach, 5000, math.NaN()) }, "too noisy to tell: all back after a cut, s: n^NaN"},
		"both": {func(r *results) {
			r.set("Storm", timeEach, 5000, math.NaN())
			scale(r, plane, "Gather", timeEach, 1.5)
		}, "NOT HELD: all Edges asked, s: n^1.50 ± 0.00, last step n^1.50 ± 0.00; too noisy to tell: all back after a cut, s: n^NaN"},
		"of one round": {func(r *results) {
			for p, all := range r.samples {
				r.samples[p] = all[:1]
			}
		}, "not measured: "},
	} {
		r := newResults(io.Discard)
		for _, n := range []int{1000, 5000, 10_000, 19_000} {
			for _, f := range figures() {
				for _, u := range f.per {
					v := 2000.0
					if u.name == timeEach || u.name == cpuAMinute {
						v = float64(n)
					}
					for range 2 * f.turnsARound() {
						r.add(place{f.name, u.name, n, plane}, v)
					}
				}
			}
		}
		c.change(r)
		if got := r.linear(figures()).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	if got := newResults(io.Discard).linear(figures()); got.outcome != notMeasured {
		t.Error(got)
	}
}

// scale has a value of a server grow with a power of the number of Edges.
func scale(r *results, server, figure, unit string, power float64) {
	for _, n := range r.sizes() {
		v := 100 * math.Pow(float64(n), power)
		r.samples[place{figure, unit, n, server}] = []float64{v, v, v, v, v, v}
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
