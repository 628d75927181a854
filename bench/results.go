package main

import (
	"io"
	"slices"
)

// place is where a value belongs.
type place struct {
	figure, unit string
	edges        int
	server       string
}

// results are all values that were measured.
type results struct {
	out     io.Writer // takes a line for each measurement, as soon as it is made
	samples map[place][]float64
}

func newResults(out io.Writer) *results { return &results{out: out, samples: map[place][]float64{}} }

func (r *results) add(p place, v float64) { r.samples[p] = append(r.samples[p], v) }

// at gives what was measured at a place; false when nothing was.
func (r *results) at(p place) (statistic, bool) {
	all := r.samples[p]
	return statisticOf(all), len(all) > 0
}

// ratio is the Control Plane's value divided by the baseline's: the median of the turns, in each of which one was measured shortly
// after the other. False when there is none, such as by 0.
func (r *results) ratio(figure, unit string, edges int) (float64, bool) {
	ours, theirs := r.samples[place{figure, unit, edges, plane}], r.samples[place{figure, unit, edges, baseline}]
	var all []float64
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] != 0 {
			all = append(all, ours[i]/theirs[i])
		}
	}
	return statisticOf(all).median, len(all) > 0
}

// sizes are those at which something was measured, smallest first.
func (r *results) sizes() []int {
	var sizes []int
	for p := range r.samples {
		if !slices.Contains(sizes, p.edges) {
			sizes = append(sizes, p.edges)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// has tells whether a unit of a figure was measured at any size.
func (r *results) has(figure, unit string) bool {
	for p := range r.samples {
		if p.figure == figure && p.unit == unit {
			return true
		}
	}
	return false
}

// line gives a unit's medians over the sizes.
func (r *results) line(figure, unit, server string) []point {
	var line []point
	for _, n := range r.sizes() {
		if s, ok := r.at(place{figure, unit, n, server}); ok {
			line = append(line, point{float64(n), s.median})
		}
	}
	return line
}
