package main

import (
	"context"
	"net/http"
)

const commandBody = `{"operation":"provider.disable","node_id":"gpu-0","parameters":{"provider_id":"vllm-0"},"reason":"rack 12 is moved"}`

// commandCPU is what a command costs, from HTTP to the Edge and back. The Control Plane keeps a record of each and makes events
// of its states; the baseline passes it on.
var commandCPU = figure{
	name: "Command", alike: true, turns: someTurns,
	per: []unit{
		{cpuEach, "CPU a command, µs", toMicros, byEdge},
		{rateOf, "commands a second", asItIs, timeOf},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		values, err := s.closedLoop(ctx, s.set.calls, func(ctx context.Context, client *http.Client, n int) error {
			_, err := call(ctx, client, http.MethodPost, s.http+"/edges/"+s.edgeAt(n)+"/commands", commandBody)
			return err
		})
		return s.set.calls, values, err
	},
}
