package report

import (
	"math"
	"strconv"
)

// axis maps values to places along one side of a chart.
type axis struct {
	low, high float64
	log       bool
	length    float64 // in the chart's units
}

// at is the place of a value, from 0 to length.
func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(max(v, a.low))
	}
	if high <= low {
		return 0
	}
	return a.length * min(1, max(0, (v-low)/(high-low)))
}

// linear makes an axis from 0 to a round number at or above the highest value, with some steps of 1, 2 or 5.
func linear(highest, length float64) (a axis, ticks []float64) {
	if !(highest > 0) || math.IsInf(highest, 0) { // also what is no number
		highest = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, times := range []float64{0.2, 0.5, 1, 2} {
		if highest/(step*times) <= 5 {
			step *= times
			break
		}
	}
	n := int(math.Ceil(highest/step - 1e-9))
	for i := range n + 1 {
		ticks = append(ticks, float64(i)*step)
	}
	return axis{high: ticks[n], length: length}, ticks
}

// decades makes a logarithmic axis of whole powers of ten around the values.
func decades(lowest, highest, length float64) (a axis, ticks []float64) {
	if !(lowest > 0) || !(highest >= lowest) {
		lowest, highest = 1, 10
	}
	first, last := math.Floor(math.Log10(lowest)+1e-9), math.Ceil(math.Log10(highest)-1e-9)
	if last <= first {
		last = first + 1
	}
	for e := first; e <= last; e++ {
		ticks = append(ticks, math.Pow(10, e))
	}
	return axis{low: ticks[0], high: ticks[len(ticks)-1], log: true, length: length}, ticks
}

// label writes a tick in few signs.
func label(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + "M"
	case v >= 10_000:
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
