package traffic

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDue(t *testing.T) {
	const never = time.Duration(-1)
	for _, c := range []struct {
		name string
		s    Schedule
		n    int
		want time.Duration
	}{
		{"the first at once", Schedule{Rate: 10, Duration: time.Second}, 0, 0},
		{"evenly", Schedule{Rate: 10, Duration: time.Second}, 7, 700 * time.Millisecond},
		{"none after the end", Schedule{Rate: 10, Duration: time.Second}, 10, never},
		{"no rate, none", Schedule{Duration: time.Second}, 0, never},
		{"slow at the beginning of a ramp", Schedule{Rate: 100, Ramp: 2 * time.Second, Duration: time.Minute}, 1, 200 * time.Millisecond},
		{"half the area at the end of a ramp", Schedule{Rate: 100, Ramp: 2 * time.Second, Duration: time.Minute}, 100, 2 * time.Second},
		{"evenly after a ramp", Schedule{Rate: 100, Ramp: 2 * time.Second, Duration: time.Minute}, 150, 2500 * time.Millisecond},
		{"a ramp longer than all", Schedule{Rate: 100, Ramp: 20 * time.Second, Duration: 10 * time.Second}, 250, never},
	} {
		got, ok := c.s.Due(c.n)
		if !ok {
			got = never
		}
		if diff := (got - c.want).Abs(); diff > time.Microsecond {
			t.Errorf("%s: request %d is due at %v, want %v", c.name, c.n, got, c.want)
		}
	}
}

// A server that stalls doesn't hold the schedule up, and what was due meanwhile keeps its time.
func TestScheduleKeepsToItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var due, sent []time.Duration
		Schedule{Rate: 10, Duration: 500 * time.Millisecond}.run(t.Context(), began, func(at time.Time) {
			due = append(due, at.Sub(began))
			sent = append(sent, time.Since(began))
			if len(due) == 2 {
				time.Sleep(250 * time.Millisecond) // this side was held up
			}
		})
		ms := time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, 100 * ms, 200 * ms, 300 * ms, 400 * ms}, due); diff != "" {
			t.Errorf("due times (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 100 * ms, 350 * ms, 350 * ms, 400 * ms}, sent); diff != "" {
			t.Errorf("sent times (-want +got):\n%s", diff)
		}
	})
}

func TestScheduleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		n := 0
		Schedule{Rate: 10, Duration: time.Hour}.run(ctx, time.Now(), func(time.Time) { n++ })
		if n != 3 {
			t.Errorf("%d requests were sent in 250 ms at 10 a second, want 3", n)
		}
	})
}
