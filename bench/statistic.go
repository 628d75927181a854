package main

import "slices"

// statistic is what repeats of one measurement say.
type statistic struct {
	median  float64
	spread  float64 // half of what lies between the lowest and the highest, by the median; 0 where the median is 0
	repeats int
}

func statisticOf(all []float64) statistic {
	n := len(all)
	if n == 0 {
		return statistic{}
	}
	sorted := slices.Sorted(slices.Values(all))
	s := statistic{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, repeats: n}
	if s.median != 0 {
		s.spread = (sorted[n-1] - sorted[0]) / 2 / s.median
	}
	return s
}
