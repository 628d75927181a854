package main

import (
	"context"
	"net/http"
)

// statusCPU is the cost of a status round trip: HTTP, the Edge asked, its answer rendered. Its timeout is long enough even under a profile.
var statusCPU = figure{
	name: "Status", alike: true, turns: 5, // its ratio is the one whose target is closest
	per: []unit{
		{cpuEach, "CPU a status round trip, µs", toMicros, byEdge},
		{rateOf, "status round trips a second", asItIs, timeOf},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		values, err := s.closedLoop(ctx, s.set.calls, func(ctx context.Context, client *http.Client, n int) error {
			_, err := call(ctx, client, http.MethodGet, s.http+"/edges/"+s.edgeAt(n)+"/status?timeout=30s", "")
			return err
		})
		return s.set.calls, values, err
	},
}
