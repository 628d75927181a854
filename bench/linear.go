package main

import (
	"fmt"
	"math"
	"strings"
)

// What a cost may grow faster by than the number of Edges does, before it counts as faster than linear: what chance does to
// the medians that are compared, and what caches do.
const (
	// cacheSlack: what is done for 19,000 Edges in turn finds less of it in the processor's caches than what is done for
	// 1,000. That ends where nothing is found there any more, so that it is no growth that goes on; the baseline's figures show more of it.
	cacheSlack = 1.25
	// noiseSlack is in standard errors of the ratio of two medians. There are some hundred ratios, so that three errors, which one
	// in 700 goes beyond by chance, would be one too few.
	noiseSlack = 4
	// mostSlack: a figure that differs by more from sample to sample is too noisy to be told of, and isn't held.
	mostSlack = 2
)

// slack is by how much a figure's total may grow faster, from one size to another, than the number of Edges.
func (r *results) slack(figure, unit string) float64 {
	return min(cacheSlack*(1+noiseSlack*r.medianError(figure, unit)), mostSlack)
}

// medianError is the standard error, by its size, of the ratio of two medians of a figure at the Control Plane: from what its samples
// at one size differ by, over all sizes. 0 where each was measured once, and nothing is known of it.
func (r *results) medianError(figure, unit string) float64 {
	var squares float64
	var freedom, places, repeats int
	for _, n := range r.sizes() {
		all := r.samples[place{figure, unit, n, plane}]
		mean := meanOf(all)
		if mean == 0 {
			continue
		}
		places, repeats = places+1, repeats+len(all)
		freedom += len(all) - 1
		for _, v := range all {
			squares += (v/mean - 1) * (v/mean - 1)
		}
	}
	if freedom == 0 {
		return 0
	}
	samples := float64(repeats) / float64(places)
	const ofMedian = 1.25 // a median's error by a mean's
	return math.Sqrt(squares/float64(freedom)) * ofMedian * math.Sqrt(2/samples)
}

func meanOf(all []float64) (mean float64) {
	for _, v := range all {
		mean += v / float64(len(all))
	}
	return mean
}

const linearWanted = "nothing grows faster than linearly"

// linear tells whether each cost grows at most as much as the number of Edges does, from each size to the next and from the
// first to the last.
func (r *results) linear(figures []figure) verdict {
	var rows, steps int
	var faster []string
	for _, f := range figures {
		for _, u := range f.per {
			grown := r.steps(f.name, u)
			if len(grown) > 0 {
				rows++
			}
			steps += len(grown)
			for _, g := range grown {
				if slack := r.slack(f.name, u.name); !(g.factor <= slack) {
					faster = append(faster, fmt.Sprintf("%s from %s to %s Edges: %.2f times as fast as they, %.2f are allowed", u.label, whole(g.from), whole(g.to), g.factor, slack))
				}
			}
		}
	}
	switch {
	case steps == 0:
		return verdict{linearWanted, notMeasured, "it takes two sizes"}
	case len(faster) > 0:
		return verdict{linearWanted, notHeld, strings.Join(faster, "; ")}
	}
	return verdict{linearWanted, held, fmt.Sprintf("%d figures, %d steps from one size to another", rows, steps)}
}

// growth is how a cost grew between two sizes: its total's factor by that of the number of Edges.
type growth struct {
	from, to int
	factor   float64
}

// steps are from each size to the next, and from the first to the last where that is another step.
func (r *results) steps(figure string, u unit) (all []growth) {
	if u.total == nil {
		return nil
	}
	line := r.line(figure, u.name, plane)
	step := func(a, b point) {
		all = append(all, growth{int(a.x), int(b.x), u.total(b.x, b.y) * a.x / (u.total(a.x, a.y) * b.x)})
	}
	for i := 1; i < len(line); i++ {
		step(line[i-1], line[i])
	}
	if len(line) > 2 {
		step(line[0], line[len(line)-1])
	}
	return all
}
