package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// mostExponent is how fast a cost may grow, as a power of the number of Edges. n·log n is n^1.12 over the sizes of the default.
	mostExponent = 1.1
	// excluded is the exponent that the error bar must rule out: otherwise noisy measurements would pass.
	excluded = 1.25
)

// exponent is the power of the number of Edges that a cost grows by, with its error bar: how far off it may be in 19 of 20 cases, provided
// that the values lie along a line.
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

// curve is a cost over the sizes: the logarithms of both, a point a round. The turns of one round are of one minute and have
// its error in common, so that only their median counts.
type curve []point

// cost is what a unit's values add up to.
func (r *results) cost(f figure, u unit) curve {
	return r.curve(f, u, func(n int) []float64 {
		var all []float64
		for _, v := range r.samples[place{f.name, u.name, n, plane}] {
			all = append(all, u.total(float64(n), v))
		}
		return all
	})
}

// costBeside is the cost divided by the baseline's, turn by turn, times the number of Edges: the cost on a machine that isn't slower with
// more Edges.
func (r *results) costBeside(f figure, u unit) curve {
	return r.curve(f, u, func(n int) []float64 {
		edges := float64(n)
		theirs := r.samples[place{f.name, u.name, n, baseline}]
		var all []float64
		for i, v := range r.samples[place{f.name, u.name, n, plane}] {
			if i < len(theirs) {
				all = append(all, edges*u.total(edges, v)/u.total(edges, theirs[i]))
			}
		}
		return all
	})
}

func (r *results) curve(f figure, u unit, values func(n int) []float64) (c curve) {
	for _, n := range r.sizes() {
		for turns := range slices.Chunk(values(n), f.turnsARound()) {
			c = append(c, point{math.Log(float64(n)), math.Log(statisticOf(turns).median)})
		}
	}
	return c
}

// tells whether there are two sizes, and two rounds of one.
func (c curve) tells() bool {
	sizes := map[float64]int{}
	most := 0
	for _, p := range c {
		sizes[p.x]++
		most = max(most, sizes[p.x])
	}
	return len(sizes) > 1 && most > 1
}

// lastStep is the growth from the last size but one to the last. Growth that begins only there, hidden before by a constant cost, doesn't
// show over all sizes. False with one point each, which would prove nothing.
func (c curve) lastStep() (exponent, bool) {
	last, before := math.Inf(-1), math.Inf(-1)
	for _, p := range c {
		if p.x > last {
			last, before = p.x, last
		}
	}
	step := slices.DeleteFunc(slices.Clone(c), func(p point) bool { return p.x < before })
	if len(step) < 3 {
		return exponent{}, false
	}
	return exponentOf(step), true
}

// outcome is that of the line through all, unless the last step alone is surely faster than anything that may be held.
func (c curve) outcome() outcome {
	if e, ok := c.lastStep(); ok && e.power-e.off > excluded {
		return notHeld
	}
	return exponentOf(c).outcome()
}

// curves are a unit's cost and, where the baseline does as much for each, that beside it; nil where they tell nothing.
func (r *results) curves(f figure, u unit) (c, beside curve) {
	if u.total == nil {
		return nil, nil
	}
	if c = r.cost(f, u); !c.tells() {
		return nil, nil
	}
	if beside = r.costBeside(f, u); !f.alike || !beside.tells() {
		return c, nil
	}
	return c, beside
}

// growthOf tells how a unit grows, and in words by what; false when that can't be told.
func (r *results) growthOf(f figure, u unit) (o outcome, words string, ok bool) {
	c, beside := r.curves(f, u)
	if c == nil {
		return "", "", false
	}
	o, words = c.outcome(), fmt.Sprintf("%s: %s", u.label, exponentOf(c))
	if e, ok := c.lastStep(); ok {
		words += fmt.Sprintf(", last step %s", e)
	}
	if o == held || beside == nil {
		return o, words, true
	}
	return beside.outcome(), fmt.Sprintf("%s, by the baseline's %s", words, exponentOf(beside)), true
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

// linear tells whether each cost grows no faster than the number of Edges.
func (r *results) linear(figures []figure) verdict {
	judged := map[outcome][]string{}
	for _, f := range figures {
		for _, u := range f.per {
			if o, words, ok := r.growthOf(f, u); ok {
				judged[o] = append(judged[o], words)
			}
		}
	}
	faster, unsure := strings.Join(judged[notHeld], "; "), strings.Join(judged[tooNoisy], "; ")
	switch {
	case faster != "" && unsure != "":
		return verdict{linearWanted, notHeld, faster + "; " + string(tooNoisy) + ": " + unsure}
	case faster != "":
		return verdict{linearWanted, notHeld, faster}
	case unsure != "":
		return verdict{linearWanted, tooNoisy, unsure}
	case len(judged[held]) == 0:
		return verdict{linearWanted, notMeasured, "it takes two sizes, and two rounds"}
	}
	return verdict{linearWanted, held, fmt.Sprintf("%d figures", len(judged[held]))}
}
