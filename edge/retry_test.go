package edge

import (
	"testing"
	"time"

	"iop/wire/backoff"
)

func TestWaitAfterAnEnding(t *testing.T) {
	now := time.Now()
	const initial, most = time.Second, 30 * time.Second
	for name, c := range map[string]struct {
		end         ending
		least, most time.Duration
	}{
		"lost":                                {ending{}, initial, 2 * initial},
		"hopeless":                            {ending{hopeless: true}, most, most},
		"hopeless after a long time":          {ending{hopeless: true, held: time.Hour}, most, most},
		"asked to wait less than we would":    {ending{notBefore: now.Add(initial)}, initial, 2 * initial},
		"asked to wait more":                  {ending{notBefore: now.Add(time.Minute)}, time.Minute, time.Minute},
		"asked to wait, and that has passed":  {ending{notBefore: now.Add(-time.Minute)}, initial, 2 * initial},
		"hopeless, and asked to wait longer":  {ending{hopeless: true, notBefore: now.Add(time.Minute)}, time.Minute, time.Minute},
		"hopeless, and asked to wait shorter": {ending{hopeless: true, notBefore: now.Add(initial)}, most, most},
	} {
		for range 100 {
			if got := c.end.wait(backoff.New(initial, most), now); got < c.least || got > c.most {
				t.Errorf("%s: waits %v", name, got)
			}
		}
	}
}

// A wait after failures is random up to a ceiling that grows; many of them tell the ceiling.
func TestFailuresInARowAreCounted(t *testing.T) {
	const initial, most = time.Second, 30 * time.Second
	longest := func(last ending) (wait time.Duration) {
		for range 1000 {
			b := backoff.New(initial, most)
			for range 4 {
				ending{}.wait(b, time.Now())
			}
			wait = max(wait, last.wait(b, time.Now()))
		}
		return wait
	}
	if got := longest(ending{held: most - 1}); got <= 16*time.Second {
		t.Errorf("after four failures and a short connection it waits %v at most", got)
	}
	if got := longest(ending{held: most}); got > 2*initial {
		t.Errorf("after a connection that held it waits %v", got)
	}
}
