package plot

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAxes(t *testing.T) {
	for _, c := range []struct {
		highest float64
		want    []float64
	}{
		{0, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{math.NaN(), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{3, []float64{0, 1, 2, 3}},
		{10, []float64{0, 2, 4, 6, 8, 10}},
		{10_001, []float64{0, 5000, 10000, 15000}},
		{4321, []float64{0, 1000, 2000, 3000, 4000, 5000}},
		{86, []float64{0, 20, 40, 60, 80, 100}},
	} {
		a, ticks := Linear(c.highest, 100)
		if diff := cmp.Diff(c.want, ticks, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Errorf("Linear(%v) (-want +got):\n%s", c.highest, diff)
		}
		if got := a.At(a.High); got != 100 {
			t.Errorf("Linear(%v): the end is at %v", c.highest, got)
		}
	}
	a, ticks := Decades(0.7, 350, 100)
	if diff := cmp.Diff([]float64{0.1, 1, 10, 100, 1000}, ticks, cmp.Comparer(func(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 })); diff != "" {
		t.Errorf("Decades (-want +got):\n%s", diff)
	}
	for v, want := range map[float64]float64{0.1: 0, 10: 50, 1000: 100, 0: 0, 1e9: 100} {
		if got := a.At(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
}
