package main

import "context"

// helloRate is how fast all Edges came to be connected when the rig was opened, each with a new connection, 64 at a time, and
// what the server spent on each. The Edges' side of it takes about as much of the same machine.
var helloRate = figure{
	name: "Hello", alike: true,
	per: []unit{
		{rateOf, "hellos a second", asItIs, timeOf},
		{cpuEach, "CPU a hello, µs", toMicros, byEdge},
	},
	measure: func(_ context.Context, s *rig) (int, []float64, error) {
		n := s.edges()
		return n, []float64{float64(n) / s.joined.Seconds(), each(s.hellos, n)}, nil
	},
	again: func(ctx context.Context, s *rig) (int, error) {
		if err := s.fleet.cut(ctx); err != nil {
			return 0, err
		}
		return s.edges(), s.fleet.connect(ctx)
	},
}
