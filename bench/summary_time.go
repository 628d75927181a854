package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// summaryTime is /fleet/summary of Edges that have all pushed a snapshot just before, one call at a time.
var summaryTime = figure{
	name: "Summary", turns: someTurns,
	per: []unit{
		{timeEach, "the summary of fresh Edges, ms", toMillis, ofAll},
		{cpuEach, "CPU a summary, ms", toMillis, ofAll},
	},
	measure: func(ctx context.Context, s *rig) (int, []float64, error) {
		if err := s.fleet.push(ctx, 1); err != nil {
			return 0, nil, err
		}
		const calls = 50
		values, err := s.inTurn(ctx, calls, "/fleet/summary?max_age=1m", s.allAnswered)
		return calls, values, err
	},
}

// allAnswered: every Edge is in the totals.
func (s *rig) allAnswered(answer []byte) error {
	var fleet struct{ Answered int }
	if err := json.Unmarshal(answer, &fleet); err != nil || fleet.Answered != s.edges() {
		return fmt.Errorf("%d Edges are added up, not %d (%v)", fleet.Answered, s.edges(), err)
	}
	return nil
}
