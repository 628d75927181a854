package main

import "context"

// gatherTime is /fleet/status with every Edge asked.
var gatherTime = figure{
	name: "Gather",
	per: []unit{
		{timeEach, "all Edges asked, s", toSecs},
		{cpuEdge, "CPU an Edge asked, µs", toMicros},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		const calls = 1
		values, err := s.inTurn(ctx, calls, "/fleet/status?max_age=0s&timeout=30s", s.allAnswered)
		values[1] /= float64(s.edges())
		return calls, values, err
	},
}
