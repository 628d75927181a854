package main

import (
	"io"
	"testing"
)

// TestRatioIsOfTurns: what slows both servers for a while, or at another time each, moves no ratio.
func TestRatioIsOfTurns(t *testing.T) {
	r := newResults(io.Discard)
	for _, turn := range [][2]float64{{80, 100}, {160, 200}, {92, 93}, {240, 300}, {75, 128}} {
		r.add(place{"A", "u", 10, plane}, turn[0])
		r.add(place{"A", "u", 10, baseline}, turn[1])
	}
	if got, ok := r.ratio("A", "u", 10); got != 0.8 || !ok {
		t.Errorf("%v, %v", got, ok)
	}
	r.add(place{"B", "u", 10, plane}, 1)
	r.add(place{"B", "u", 10, baseline}, 0)
	r.add(place{"C", "u", 10, plane}, 1)
	for _, figure := range []string{"B", "C", "D"} {
		if got, ok := r.ratio(figure, "u", 10); ok {
			t.Errorf("%s: %v", figure, got)
		}
	}
}
