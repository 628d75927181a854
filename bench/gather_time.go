package main

import (
	"context"
	"net/http"
)

// gatherTime is /fleet/status with every Edge asked.
var gatherTime = figure{
	name: "Gather", alike: true, turns: someTurns,
	per: []unit{
		{timeEach, "all Edges asked, s", toSecs, ofAll},
		{cpuEdge, "CPU an Edge asked, µs", toMicros, byEdge},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		cpu, took, err := s.spent(func() error { return s.gather(ctx) })
		return 1, []float64{float64(took), each(cpu, s.edges())}, err
	},
	again: func(ctx context.Context, s *rig) (int, error) { return s.edges(), s.gather(ctx) },
}

func (s *rig) gather(ctx context.Context) error {
	answer, err := call(ctx, beside, http.MethodGet, s.http+"/fleet/status?max_age=0s&timeout=30s", "")
	if err != nil {
		return err
	}
	return s.allAnswered(answer)
}
