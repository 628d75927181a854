package dial

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"iop/wire/backoff"
)

func TestWaitAfterAnEnding(t *testing.T) {
	now := time.Now()
	const initial, most = time.Second, 30 * time.Second
	for name, c := range map[string]struct {
		end         Ending
		least, most time.Duration
	}{
		"lost":                                {Ending{}, initial, 2 * initial},
		"hopeless":                            {Ending{Hopeless: true}, most, most},
		"hopeless after a long time":          {Ending{Hopeless: true, Held: time.Hour}, most, most},
		"asked to wait less than we would":    {Ending{NotBefore: now.Add(initial)}, initial, 2 * initial},
		"asked to wait more":                  {Ending{NotBefore: now.Add(time.Minute)}, time.Minute, time.Minute},
		"asked to wait, and that has passed":  {Ending{NotBefore: now.Add(-time.Minute)}, initial, 2 * initial},
		"hopeless, and asked to wait longer":  {Ending{Hopeless: true, NotBefore: now.Add(time.Minute)}, time.Minute, time.Minute},
		"hopeless, and asked to wait shorter": {Ending{Hopeless: true, NotBefore: now.Add(initial)}, most, most},
	} {
		for range 100 {
			if got := c.end.Wait(backoff.New(initial, most), now); got < c.least || got > c.most {
				t.Errorf("%s: waits %v", name, got)
			}
		}
	}
}

// A wait after failures is random up to a ceiling that grows; many of them tell the ceiling.
func TestFailuresInARowAreCounted(t *testing.T) {
	const initial, most = time.Second, 30 * time.Second
	longest := func(last Ending) (wait time.Duration) {
		for range 1000 {
			b := backoff.New(initial, most)
			for range 4 {
				Ending{}.Wait(b, time.Now())
			}
			wait = max(wait, last.Wait(b, time.Now()))
		}
		return wait
	}
	if got := longest(Ending{Held: most - 1}); got <= 16*time.Second {
		t.Errorf("after four failures and a short connection it waits %v at most", got)
	}
	if got := longest(Ending{Held: most}); got > 2*initial {
		t.Errorf("after a connection that held it waits %v", got)
	}
}

// A log may be a terminal, which shows a message as it is, and a field quoted: what somebody else said is a field.
func TestWhatAPeerSaysIsNoMessageOfTheLog(t *testing.T) {
	var log bytes.Buffer
	stopped, stop := context.WithCancel(t.Context())
	stop()
	end := Ending{Why: "The Edge refuses: no \x1b[2J"}
	end.Pause(stopped, backoff.New(time.Second, time.Minute), slog.New(slog.NewJSONHandler(&log, nil)))
	if !strings.Contains(log.String(), `"msg":"Not connected.","why":"The Edge refuses: no \u001b[2J"`) {
		t.Errorf("the log says %s", log.String())
	}
}
