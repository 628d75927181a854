package main

import "context"

// idleHello is the cost of an Edge that has said hello and sends heartbeats: the growth of resident memory, and of goroutines, since
// no Edge was connected. It is measured first.
var idleHello = figure{
	name: "IdleHello", holds: true, atOnce: true,
	per: []unit{
		{bytesEach, "bytes an idle Edge, hello alone", asItIs, byEdge},
		{goroutinesEach, "goroutines an idle Edge", asItIs, goroutinesOf},
		{emptyBytes, "resident without Edges, MiB", toMiB, nil},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		now, err := s.settled(ctx, s.set.pause)
		if err != nil {
			return 0, nil, err
		}
		n := float64(s.edges())
		return 1, []float64{(now.resident - s.empty.resident) / n, (now.goroutines - s.empty.goroutines) / n, s.empty.resident}, nil
	},
}

// idleSnapshot is the same once each has pushed a snapshot, which is kept.
var idleSnapshot = figure{
	name: "IdleSnapshot", holds: true, atOnce: true,
	per: []unit{{bytesEach, "bytes an idle Edge, a snapshot kept", asItIs, byEdge}},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		if err := s.fleet.push(ctx, 1); err != nil {
			return 0, nil, err
		}
		now, err := s.settled(ctx, s.set.pause)
		if err != nil {
			return 0, nil, err
		}
		return 1, []float64{(now.resident - s.empty.resident) / float64(s.edges())}, nil
	},
}
