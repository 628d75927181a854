package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// TestWatchdog: a sign of life is given for each answer, none while there is none, and again when there is one.
func TestWatchdog(t *testing.T) {
	const interval = 30 * time.Second
	for name, c := range map[string]struct {
		hung [][2]time.Duration // from, to: when the registry takes nothing
		slow time.Duration      // what an answer takes
		want []time.Duration    // when a sign of life is given, in the first two minutes
	}{
		"alive":        {want: every(10*time.Second, 0, 2*time.Minute)},
		"slow":         {slow: 9 * time.Second, want: every(10*time.Second, 9*time.Second, 2*time.Minute)},
		"too slow":     {slow: 11 * time.Second},
		"a short hang": {hung: [][2]time.Duration{{15 * time.Second, 25 * time.Second}}, want: slices.Concat([]time.Duration{0, 10 * time.Second, 25 * time.Second}, every(10*time.Second, 30*time.Second, 2*time.Minute))},
		"hung for good": {hung: [][2]time.Duration{{25 * time.Second, time.Hour}},
			want: []time.Duration{0, 10 * time.Second, 20 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				alive := func(ctx context.Context) bool {
					wait := c.slow
					for _, h := range c.hung {
						if at := time.Since(began); at >= h[0] && at < h[1] {
							wait = h[1] - at
						}
					}
					select {
					case <-time.After(wait):
						return true
					case <-ctx.Done():
						return false
					}
				}
				var got []time.Duration
				m := &serviceManager{log: zerolog.Nop(), send: func(state string) error {
					if state != "WATCHDOG=1" {
						t.Errorf("told %q", state)
					}
					got = append(got, time.Since(began))
					return nil
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute-time.Second/2) // between two of them
				defer cancel()
				m.watch(ctx, interval, alive)
				if !slices.Equal(got, c.want) {
					t.Errorf("signs of life at %v, want %v", got, c.want)
				}
			})
		})
	}
}

// every gives the moments from first on, until just before end.
func every(step, first, end time.Duration) (at []time.Duration) {
	for ; first < end; first += step {
		at = append(at, first)
	}
	return at
}

// TestWatchdogOfADeafManager: a manager that can't be told doesn't end the watch.
func TestWatchdogOfADeafManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		m := &serviceManager{log: zerolog.Nop(), send: func(string) error { tries.Add(1); return errors.New("no such socket") }}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		m.watch(ctx, 30*time.Second, func(context.Context) bool { return true })
		if got := tries.Load(); got != 3 {
			t.Errorf("%d tries in 25 s, want 3", got)
		}
	})
}
