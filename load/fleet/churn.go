package fleet

import (
	"context"
	"math/rand/v2"
	"time"
)

const churnStep = 100 * time.Millisecond

// Churn has Edges leave at a rate, some at each step, until ctx ends: any of them, half without a goodbye. Each comes back after it was
// away for so long.
func (f *Fleet) Churn(ctx context.Context, perSecond float64, away time.Duration) {
	steps := time.NewTicker(churnStep)
	defer steps.Stop()
	for began, gone := time.Now(), 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-steps.C:
		}
		var politely, rudely []int
		for due := int(time.Since(began).Seconds() * perSecond); gone < due; gone++ {
			number := rand.IntN(f.opts.Count)
			if gone%2 == 0 {
				politely = append(politely, number)
			} else {
				rudely = append(rudely, number)
			}
		}
		f.leave(politely, true, away)
		f.leave(rudely, false, away)
	}
}
