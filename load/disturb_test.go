package load

import (
	"testing"
	"time"
)

// A shorter --duration shortens what a scenario disturbs: the run doesn't go on without traffic.
func TestDisturbanceWithinTheTraffic(t *testing.T) {
	for _, c := range []struct {
		at, lasts, duration, want time.Duration
		any                       bool
	}{
		{5, 45, 60, 45, true},
		{5, 45, 30, 25, true},
		{5, 0, 30, 0, true},
		{30, 10, 30, 0, false},
		{40, 10, 30, 0, false},
	} {
		got, any := Disturbance{At: c.at, For: c.lasts}.within(c.duration)
		if any != c.any || any && got.For != c.want {
			t.Errorf("at %d for %d in %d: for %d, %v", c.at, c.lasts, c.duration, got.For, any)
		}
	}
}
