package edge

import (
	"errors"
	"time"

	"iop/edge/backend"
)

// answer is what a provider said when it was probed, or why it said nothing.
type answer struct {
	err       error
	load      *backend.Load // nil: it answers, but didn't tell this time
	loadErr   error         // why it didn't
	at        time.Time     // when it was asked for its load; if it doesn't answer, when it was asked at all
	models    []string      // as last told; nil: not told
	modelsErr error         // why they weren't told this time
	slots     uint32        // as last told; 0: not told
	slotsErr  error         // why they weren't told this time
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
//
// It is the same with its load: one that is lost is no news, two are, and so is the first where none was told before. From
// then on it isn't known whether it takes requests, so that nobody counts on it. One that never exported a load has none to lose,
// until it exports one.
type providerState struct {
	asked     bool
	online    bool
	doubted   bool
	models    []string // nil: never told
	modelsErr error    // why the last answer didn't tell them
	slots     uint32
	slotsErr  error // why the last answer didn't tell them
	load      backend.Load
	loadAt    time.Time // when load was asked for; zero: it was never told
	mute      int       // answers in a row without a load
	refusedAt time.Time // when one that is offline was asked last, if it refused the connection

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
		if errors.Is(a.err, backend.ErrRefused) {
			s.refusedAt = a.at
		}
		return
	}
	s.asked, s.online, s.doubted = true, true, false
	s.modelsErr, s.slotsErr = a.modelsErr, a.slotsErr
	if a.models != nil { // whoever asks may be new, and know less than was told before
		s.models = a.models
	}
	if a.slots != 0 {
		s.slots = a.slots
	}
	// The last numbers stand: not known is not zero, and a gateway's page without gauges doesn't mean that the engine has none.
	if a.load == nil || s.load.Exported && !a.load.Exported {
		s.mute++
		return
	}
	s.load, s.loadAt, s.mute = *a.load, a.at, 0
	s.suspicion.look(s.load, now)
}

// loadKnown tells whether the last load still counts.
func (s *providerState) loadKnown() bool { return s.mute == 0 || s.mute == 1 && !s.loadAt.IsZero() }

// view is the provider as the Edge tells of it.
func (s *providerState) view(p *ProbedProvider) Provider {
	v := Provider{ID: p.ID, Type: p.Type, Models: p.Models, Status: Unavailable, Health: Offline}
	if len(v.Models) == 0 {
		v.Models = s.models
	}
	if !s.online {
		v.LoadAt = s.refusedAt // nobody listens, so nothing runs; one that doesn't answer may be at work
		return v
	}
	capacity := p.Capacity
	if capacity == 0 {
		capacity = s.slots
	}
	v.Health, v.Status = Online, Available
	v.General = Counters{Capacity: capacity, InFlight: s.load.Running, Queued: s.load.Waiting}
	v.LongContext = Counters{Capacity: p.LongContextCapacity}
	if s.load.Exported {
		v.LoadAt = s.loadAt
	}
	switch {
	case s.suspicion.suspect:
		v.Health, v.Status = Degraded, Unavailable // nobody counts on it
	case !s.loadKnown():
		v.Status = ""
	case capacity > 0 && s.load.Running >= capacity: // a capacity that isn't known is never reached
		v.Status = Busy
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

// onSharedTick moves the next probe back to a tick that all probes of a site share, 20 in an interval: to wake up once for many
// takes half the processor time of waking up for each.
func onSharedTick(next, interval time.Duration, now time.Time) time.Duration {
	at := now.Add(next)
	return max(at.Truncate(max(interval/20, 1)).Sub(now), 0)
}
