package main

import (
	"context"
	"time"
)

// idleCPU is the cost of a fleet that only sends heartbeats, which are answered.
var idleCPU = figure{
	name: "IdleCPU", alike: true, atOnce: true,
	per: []unit{{cpuAMinute, "idle CPU, s a minute", asItIs, ofAll}},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		cpu, took, err := s.spent(func() error { return wait(ctx, s.set.idleTime) })
		return 1, []float64{cpu.Seconds() / took.Seconds() * time.Minute.Seconds()}, err
	},
}
