package main

import "context"

// reconnectStorm cuts all connections and lets all Edges dial again at once, 64 at a time, with a snapshot each. The time is
// that from the first cut until the last hello is answered and the last snapshot read.
var reconnectStorm = figure{
	name: "Storm", alike: true, turns: someTurns,
	per: []unit{
		{timeEach, "all back after a cut, s", toSecs, ofAll},
		{cpuEdge, "CPU an Edge that comes back, µs", toMicros, byEdge},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		cpu, took, err := s.spent(func() error { return s.storm(ctx) })
		return 1, []float64{float64(took), each(cpu, s.edges())}, err
	},
	again: func(ctx context.Context, s *rig) (int, error) { return s.edges(), s.storm(ctx) },
}

func (s *rig) storm(ctx context.Context) error {
	if err := s.fleet.cut(ctx); err != nil {
		return err
	}
	if err := s.fleet.connect(ctx); err != nil {
		return err
	}
	return s.fleet.push(ctx, 1)
}
