package main

import "context"

// pushCPU is the cost of a pushed snapshot, which is kept. A heartbeat after each Edge's last one shows that all were read, which
// counts too: one to two pushes at the most.
var pushCPU = figure{
	name: "Push", alike: true, turns: someTurns,
	per: []unit{{cpuEach, "CPU a pushed snapshot, µs", toMicros, byEdge}},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		rounds := many(s.set.frames, s.edges())
		cpu, _, err := s.spent(func() error { return s.fleet.push(ctx, rounds) })
		pushes := rounds * s.edges()
		return pushes, []float64{each(cpu, pushes)}, err
	},
}
