package main

import (
	"math"
	"testing"
)

func TestStatistic(t *testing.T) {
	for _, c := range []struct {
		all            []float64
		median, spread float64
	}{
		{nil, 0, 0},
		{[]float64{7}, 7, 0},
		{[]float64{4, 2}, 3, 1.0 / 3},
		{[]float64{12, 8, 10}, 10, 0.2},
		{[]float64{1, 100, 2, 3}, 2.5, 19.8},
		{[]float64{-1, 0, 1}, 0, 0},
	} {
		got := statisticOf(c.all)
		if got.median != c.median || math.Abs(got.spread-c.spread) > 1e-9 || got.repeats != len(c.all) {
			t.Errorf("%v: %+v, want %v ± %v", c.all, got, c.median, c.spread)
		}
	}
}

func TestFit(t *testing.T) {
	l, ok := fit([]point{{1000, 350}, {5000, 550}, {10_000, 800}, {19_000, 1250}})
	if !ok || math.Abs(l.start-300) > 1e-6 || math.Abs(l.slope-0.05) > 1e-9 || l.off > 1e-9 {
		t.Errorf("a line: %+v, %v", l, ok)
	}
	if got := l.at(100_000); math.Abs(got-5300) > 1e-4 {
		t.Errorf("at 100,000: %v", got)
	}
	l, ok = fit([]point{{1, 90}, {2, 220}, {3, 300}})
	if !ok || l.off < 0.01 || l.off > 0.2 || l.slope < 90 || l.slope > 120 {
		t.Errorf("about a line: %+v, %v", l, ok)
	}
	for name, points := range map[string][]point{
		"nothing":           nil,
		"two":               {{1, 1}, {2, 2}},
		"one place":         {{5, 1}, {5, 2}, {5, 3}},
		"a height of 0":     {{1, 0}, {2, 2}, {3, 3}},
		"what is no number": {{1, math.NaN()}, {2, 2}, {3, 3}},
	} {
		if l, ok := fit(points); ok {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestOnCPU(t *testing.T) {
	for text, want := range map[string]int64{"6189833 103243304 6\n": 6189833, "0 0 0": 0, "": -1, "no 1 2": -1, "-5 1 1": -1} {
		if got, ok := onCPU(text); ok != (want >= 0) || ok && int64(got) != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}
