package edge

import (
	"time"

	"iop/edge/backend"
)

// answer is what a provider said when it was probed, or the error that it didn't.
type answer struct {
	err    error
	load   *backend.Load // nil: it answers, but didn't tell this time
	models []string      // as last told
	slots  uint32        // as last told; 0: not told
}

// providerState decides what a row of answers means. The zero value is a provider that was never asked.
//
//	never asked ── answers ──▶ online ◀── answers ── offline
//	     │                     │    ▲                   ▲
//	     │               fails │    │ answers           │
//	     │                     ▼    │                   │
//	     │                    doubted ───── fails ──────┤
//	     └───────────────────── fails ──────────────────┘
//
// A doubted provider still counts as it last did: one lost answer is no news, two are. One that never answered has
// nothing to lose and is offline at once. One that is online and doesn't work is degraded.
type providerState struct {
	asked   bool
	online  bool
	doubted bool
	models  []string
	slots   uint32
	load    backend.Load

	suspicion suspicion // degraded, as long as it answers
}

// take adds an answer.
func (s *providerState) take(a answer, now time.Time) {
	if a.err != nil {
		if s.online && !s.doubted {
			s.doubted = true
			return
		}
		*s = providerState{asked: true}
		return
	}
	s.asked, s.online, s.doubted = true, true, false
	s.models, s.slots = a.models, a.slots
	if a.load != nil { // else the last numbers stand: not known is not zero
		s.load = *a.load
		s.suspicion.look(s.load, now)
	}
}

// view is the provider as the Edge tells of it.
func (s *providerState) view(p *ProbedProvider) Provider {
	v := Provider{ID: p.ID, Type: p.Type, Models: p.Models, Status: Unavailable, Health: Offline}
	if !s.online {
		return v
	}
	if len(v.Models) == 0 {
		v.Models = s.models
	}
	capacity := p.Capacity
	if capacity == 0 {
		capacity = s.slots
	}
	v.Health, v.Status = Online, Available
	v.General = Counters{Capacity: capacity, InFlight: s.load.Running, Queued: s.load.Waiting}
	v.LongContext = Counters{Capacity: p.LongContextCapacity}
	if capacity > 0 && s.load.Running >= capacity { // a capacity that isn't known is never reached
		v.Status = Busy
	}
	if s.suspicion.suspect {
		v.Health, v.Status = Degraded, Unavailable // nobody counts on it
	}
	return v
}

// nextProbe gives the wait after a probe that began ago before now: a doubted provider is asked again within the
// interval, and others once an interval, less a part by chance, so that many don't stay in step.
func (s *providerState) nextProbe(interval, ago time.Duration, chance float64) time.Duration {
	if s.doubted {
		return max(interval/2-ago, 0)
	}
	return max(interval-time.Duration(chance*float64(interval)/10)-ago, 0)
}
