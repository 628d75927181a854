package main

import "context"

// heartbeatCPU is what one heartbeat and its answer cost, with up to 64 under way.
var heartbeatCPU = figure{
	name: "Heartbeat", alike: true, turns: someTurns,
	per: []unit{{cpuEach, "CPU a heartbeat, µs", toMicros, byEdge}},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		pings := many(s.set.frames, s.edges()) * s.edges()
		cpu, _, err := s.spent(func() error { return s.fleet.ping(ctx, pings) })
		return pings, []float64{each(cpu, pings)}, err
	},
}
