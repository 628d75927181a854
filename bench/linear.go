package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// mostExponent is how fast a cost may grow, as a power of the number of Edges. n·log n is n^1.126 from 1,000 to 19,000. What is
	// more than 1 is left to the processor's caches: what is done for 19,000 Edges in turn finds less in them than what is done
	// for 1,000, which ends where nothing is found any more.
	mostExponent = 1.1
	// excluded is the power that what was measured must rule out. With less care anything could be held by measuring badly.
	excluded = 1.25
)

// exponent is the power of the number of Edges that a cost grows by, and how far off that may be in 19 of 20 cases.
type exponent struct{ power, off float64 }

func (e exponent) String() string {
	return fmt.Sprintf("n^%s ± %s", fixed(e.power, 2), fixed(e.off, 2))
}

// outcome is tooNoisy where neither can be said.
func (e exponent) outcome() outcome {
	switch {
	case e.power-e.off > mostExponent:
		return notHeld
	case e.power <= mostExponent && e.power+e.off <= excluded:
		return held
	}
	return tooNoisy
}

// exponent is that of what a unit's values add up to; false where there are less than two sizes or two rounds. Where a
// cost is no number over 0, nothing can be said of it.
func (r *results) exponent(f figure, u unit) (exponent, bool) {
	if u.total == nil {
		return exponent{}, false
	}
	var costs []point
	sizes, rounds := 0, 0
	for _, n := range r.sizes() {
		// The turns of one round are of one minute, and have its error in common.
		all := slices.Collect(slices.Chunk(r.samples[place{f.name, u.name, n, plane}], f.turnsARound()))
		if len(all) > 0 {
			sizes, rounds = sizes+1, max(rounds, len(all))
		}
		for _, turns := range all {
			costs = append(costs, point{math.Log(float64(n)), math.Log(u.total(float64(n), statisticOf(turns).median))})
		}
	}
	if sizes < 2 || rounds < 2 {
		return exponent{}, false
	}
	return exponentOf(costs), true
}

// exponentOf is the slope of the line through the points with the least squares.
func exponentOf(points []point) exponent {
	n := float64(len(points))
	var x, y, xx, xy, squares float64
	for _, p := range points {
		x, y = x+p.x/n, y+p.y/n
	}
	for _, p := range points {
		xx += (p.x - x) * (p.x - x)
		xy += (p.x - x) * (p.y - y)
	}
	slope := xy / xx
	for _, p := range points {
		off := p.y - y - slope*(p.x-x)
		squares += off * off
	}
	freedom := len(points) - 2
	return exponent{slope, student(freedom) * math.Sqrt(squares/float64(freedom)/xx)}
}

// student is by how many standard errors a slope of so many degrees of freedom, 1 or more, is off in one of 20 cases.
func student(freedom int) float64 {
	byFreedom := []float64{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23}
	return byFreedom[min(freedom, len(byFreedom))-1]
}

const linearWanted = "nothing grows faster than linearly"

// linear tells whether each cost grows at most as much as the number of Edges does.
func (r *results) linear(figures []figure) verdict {
	judged := map[outcome][]string{}
	count := 0
	var asides []string
	for _, f := range figures {
		for _, u := range f.per {
			if e, ok := r.exponent(f, u); ok {
				count++
				judged[e.outcome()] = append(judged[e.outcome()], u.label+": "+e.String())
			}
		}
		if f.aside != "" && r.has(f.name, f.per[0].name) {
			asides = append(asides, f.aside)
		}
	}
	faster, unsure := strings.Join(judged[notHeld], "; "), strings.Join(judged[tooNoisy], "; ")
	switch {
	case count == 0:
		return verdict{linearWanted, notMeasured, "it takes two sizes, and two rounds"}
	case faster != "" && unsure != "":
		return verdict{linearWanted, notHeld, faster + "; " + string(tooNoisy) + ": " + unsure}
	case faster != "":
		return verdict{linearWanted, notHeld, faster}
	case unsure != "":
		return verdict{linearWanted, tooNoisy, unsure}
	}
	return verdict{linearWanted, held, strings.Join(append([]string{fmt.Sprintf("%d figures", count)}, asides...), "; ")}
}
