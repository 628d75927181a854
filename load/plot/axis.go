// Package plot is what pictures of numbers are drawn with.
package plot

import (
	"math"
	"strconv"
)

// Axis maps values to places along one side of a chart.
type Axis struct {
	Low, High float64
	Log       bool
	Length    float64 // in the chart's units
}

// At is the place of a value, from 0 to Length.
func (a Axis) At(v float64) float64 {
	low, high := a.Low, a.High
	if a.Log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(max(v, a.Low))
	}
	if high <= low {
		return 0
	}
	return a.Length * min(1, max(0, (v-low)/(high-low)))
}

// Linear makes an axis from 0 to a round number at or above the highest value, with some steps of 1, 2 or 5.
func Linear(highest, length float64) (a Axis, ticks []float64) {
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
	return Axis{High: ticks[n], Length: length}, ticks
}

// Decades makes a logarithmic axis of whole powers of ten around the values.
func Decades(lowest, highest, length float64) (a Axis, ticks []float64) {
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
	return Axis{Low: ticks[0], High: ticks[len(ticks)-1], Log: true, Length: length}, ticks
}

// Label writes a tick in few signs.
func Label(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + "M"
	case v >= 10_000:
		return strconv.FormatFloat(v/1e3, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
