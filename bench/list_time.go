package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// listTime is the first page of /edges, one call at a time. The baseline's page holds ids alone.
var listTime = figure{
	name: "List",
	per: []unit{
		{timeEach, "the list of Edges, ms", toMillis},
		{cpuEach, "CPU a list of Edges, ms", toMillis},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		const calls = 100
		values, err := s.inTurn(ctx, calls, "/edges", func(answer []byte) error {
			var list struct{ Connected int }
			if err := json.Unmarshal(answer, &list); err != nil || list.Connected != s.edges() {
				return fmt.Errorf("the list counts %d Edges, not %d (%v)", list.Connected, s.edges(), err)
			}
			return nil
		})
		return calls, values, err
	},
}
