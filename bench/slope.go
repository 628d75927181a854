package main

import "math"

type point struct{ x, y float64 }

// straight is a line y = start + slope·x.
type straight struct {
	start, slope float64
	off          float64 // the farthest that a point lies from it, by the point's own height
}

// fit gives the line through points whose squared distances are the smallest, each taken by its point's own height, so that
// the small sizes count as much as the large. False where they tell nothing of a line: fewer than three, one place, or a height not over 0.
func fit(points []point) (straight, bool) {
	var w, wx, wy, wxx, wxy float64
	first, last := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if !(p.y > 0) {
			return straight{}, false
		}
		weight := 1 / (p.y * p.y)
		first, last = min(first, p.x), max(last, p.x)
		w += weight
		wx += weight * p.x
		wy += weight * p.y
		wxx += weight * p.x * p.x
		wxy += weight * p.x * p.y
	}
	if len(points) < 3 || first == last {
		return straight{}, false
	}
	l := straight{slope: (w*wxy - wx*wy) / (w*wxx - wx*wx)}
	l.start = (wy - l.slope*wx) / w
	for _, p := range points {
		l.off = max(l.off, math.Abs(l.at(p.x)-p.y)/p.y)
	}
	return l, true
}

func (l straight) at(x float64) float64 { return l.start + l.slope*x }
