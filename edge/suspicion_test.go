package edge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"iop/edge/backend"
)

func TestSuspicion(t *testing.T) {
	type seen struct {
		after time.Duration // since the one before
		load  backend.Load
	}
	stuck := backend.Load{Waiting: 3, Work: 7}
	idle := backend.Load{Work: 7}
	const sample, long = 5 * time.Second, suspectAfter
	for name, c := range map[string]struct {
		row  []seen
		want bool
	}{
		"nothing waits":                  {[]seen{{0, idle}, {long, idle}, {long, idle}}, false},
		"waits, not for long":            {[]seen{{0, idle}, {sample, stuck}, {long - 1, stuck}}, false},
		"waits for long":                 {[]seen{{0, idle}, {sample, stuck}, {long, stuck}}, true},
		"waits from the start":           {[]seen{{0, stuck}, {sample, stuck}, {long, stuck}}, true},
		"waits twice, not for long":      {[]seen{{0, stuck}, {sample, stuck}, {long - sample, idle}, {sample, stuck}, {sample, stuck}}, false},
		"one was seen to run":            {[]seen{{0, idle}, {sample, stuck}, {long - sample, backend.Load{Waiting: 3, Running: 1, Work: 7}}, {sample, stuck}}, false},
		"one ended between two looks":    {[]seen{{0, idle}, {sample, stuck}, {long, backend.Load{Waiting: 3, Work: 8}}, {sample, backend.Load{Waiting: 3, Work: 8}}}, false},
		"everybody gave up":              {[]seen{{0, idle}, {sample, stuck}, {long, stuck}, {sample, idle}, {long, idle}}, true},
		"one runs again":                 {[]seen{{0, idle}, {sample, stuck}, {long, stuck}, {sample, backend.Load{Running: 1, Work: 7}}}, false},
		"one has ended":                  {[]seen{{0, idle}, {sample, stuck}, {long, stuck}, {sample, backend.Load{Waiting: 2, Work: 9}}}, false},
		"was restarted":                  {[]seen{{0, idle}, {sample, stuck}, {long, stuck}, {sample, backend.Load{Waiting: 2}}}, false},
		"was restarted, stuck as before": {[]seen{{0, idle}, {sample, stuck}, {long, stuck}, {sample, backend.Load{Waiting: 2}}, {sample, backend.Load{Waiting: 2}}, {long, backend.Load{Waiting: 2}}}, true},
		"tells no counter":               {[]seen{{0, backend.Load{Waiting: 1}}, {long, backend.Load{Waiting: 1}}}, true},
	} {
		var s suspicion
		now := time.Unix(1000, 0)
		for _, look := range c.row {
			now = now.Add(look.after)
			s.look(look.load, now)
		}
		if s.suspect != c.want {
			t.Errorf("%s: suspect is %v", name, s.suspect)
		}
	}
}

func TestASuspectProviderIsDegraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"))
		says := func(l backend.Load) {
			s.set("a", func(context.Context) answer { return answer{load: &l} })
		}
		says(backend.Load{Waiting: 2})
		s.start(t)
		check := func(when string, h Health, st Status) {
			t.Helper()
			n := s.Nodes()[0]
			if p := n.Providers[0]; p.Health != h || p.Status != st || !n.Connected {
				t.Errorf("%s it is %+v", when, n)
			}
		}
		pass(suspectAfter - time.Second)
		check("at first", Online, Available)
		pass(11 * time.Second)
		check("after a while", Degraded, Unavailable)
		says(backend.Load{})
		pass(10 * time.Second)
		check("when everybody has given up", Degraded, Unavailable)
		s.Worked("gpu-1", "a")
		check("when one has ended", Online, Available)
	})
}
