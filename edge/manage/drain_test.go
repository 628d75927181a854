package manage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"iop/edge"
	"iop/edge/lease"
)

func TestADrainWaitsForWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		f.mu.Lock()
		f.nodes[0].Providers[1].General.InFlight = 0
		f.mu.Unlock()
		l := acquire(t, s)
		go func() {
			time.Sleep(time.Minute)
			if _, err := s.Pool().Acquire(t.Context(), "m", false); !errors.Is(err, lease.ErrNoProvider) {
				t.Errorf("while it drains a request is told %v", err)
			}
			if p := s.shown(); p.Status != edge.Unavailable || p.Health != edge.Online || p.General.InFlight != 1 {
				t.Errorf("while it drains it is %+v", p)
			}
			l.Release()
		}()
		result, err := do(t, s, "node.drain", "n", nil)
		if waited, _ := result["waited_seconds"].(float64); err != nil || waited < 60 || waited > 61 || result["in_flight"] != uint64(0) {
			t.Errorf("it ended with %v, %v", result, err)
		}
		if l.Context().Err() == nil || !errors.Is(context.Cause(l.Context()), context.Canceled) {
			t.Errorf("the lease ended with %v", context.Cause(l.Context()))
		}
		if _, err := do(t, s, "node.resume", "n", nil); err != nil || s.shown().Status != edge.Available {
			t.Errorf("resumed it is %+v, %v", s.shown(), err)
		}
	})
}

func TestADrainEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := running(t)
		l := acquire(t, s)
		result, err := do(t, s, "node.drain", "n", map[string]any{"deadline_seconds": 30.0})
		want := fmt.Sprintf("10 requests still run after 30s: %s (m at a, 30s), 9 at b.", l.ID)
		if err == nil || err.Error() != want || result["in_flight"] != uint64(10) || len(result["running"].([]any)) != 2 {
			t.Errorf("it ended with %v, %v; want %s", result, err, want)
		}
		if !s.Pool().Drained("n") || l.Context().Err() != nil {
			t.Error("the node isn't drained any more, or its lease was cut")
		}
		l.Release()
		_, err = do(t, s, "node.drain", "n", map[string]any{"deadline_seconds": 0.0})
		if err == nil || err.Error() != "9 requests still run after 0s: 9 at b." {
			t.Errorf("by the gauges it ended with %v", err)
		}
	})
}

// drained runs a drain of a node at which nothing is said to run at b, and counts.
func drained(t *testing.T, s *Site, deadline float64) (result map[string]any, took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	result, err = do(t, s, "node.drain", "n", map[string]any{"deadline_seconds": deadline})
	return result, time.Since(began), err
}

// A 0 counts that was told of a time when whoever sends requests had heard of the drain; everything else isn't known.
func TestADrainBelievesNoZeroThatSaysNothing(t *testing.T) {
	const unknown = "What runs at b isn't known, since "
	probed := func(interval time.Duration) func() func(string) time.Time {
		return func() func(string) time.Time {
			began := time.Now()
			return func(string) time.Time { return began.Add(time.Since(began).Truncate(interval)) }
		}
	}
	never := func() func(string) time.Time { return func(string) time.Time { return time.Time{} } }
	late := func() func(string) time.Time {
		at := time.Now().Add(7 * time.Second)
		return func(string) time.Time {
			if time.Now().Before(at) {
				return time.Time{}
			}
			return at
		}
	}
	as := func(*edge.Provider) {}
	off := func(p *edge.Provider) { *p = edge.Provider{ID: "b", Health: edge.Offline, Status: edge.Unavailable} }
	const notYet = unknown + "it has told no load after the drain."
	for name, c := range map[string]struct {
		loadAt func() func(string) time.Time
		change func(*edge.Provider)
		want   string
		took   time.Duration // at least, and a look more at most
	}{
		"told all the time":               {probed(time.Nanosecond), as, "", time.Second},
		"told every 5 s":                  {probed(5 * time.Second), as, "", 5 * time.Second},
		"told before it alone":            {probed(time.Hour), as, notYet, 30 * time.Second},
		"told nothing":                    {never, as, unknown + "it tells no load.", 0},
		"told nothing that could be read": {never, func(p *edge.Provider) { p.Status = "" }, notYet, 30 * time.Second},
		"read at last":                    {late, func(p *edge.Provider) { p.Status = "" }, "", 7 * time.Second},
		"doesn't answer":                  {never, off, notYet, 30 * time.Second},
		"refuses connections":             {probed(time.Nanosecond), off, "", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := running(t)
				f.mu.Lock()
				f.nodes[0].Providers[1].General.InFlight = 0
				c.change(&f.nodes[0].Providers[1])
				f.loadAt = c.loadAt()
				f.mu.Unlock()
				result, took, err := drained(t, s, 30)
				if took < c.took || took > c.took+drainLook {
					t.Errorf("it took %v", took)
				}
				if c.want == "" && (err != nil || result["in_flight"] != uint64(0) || result["unknown"] != nil) {
					t.Errorf("it ended with %v, %v", result, err)
				}
				if c.want != "" && (err == nil || err.Error() != c.want || result["in_flight"] != nil || fmt.Sprint(result["unknown"]) != "[b]") {
					t.Errorf("it ended with %v, %v; want %s", result, err, c.want)
				}
				if !s.Pool().Drained("n") {
					t.Error("the node isn't drained")
				}
			})
		})
	}
}

// What an agent told is shown as nothing once it has gone; what it told of may run on.
func TestADrainWaitsForAnAgentThatHasGone(t *testing.T) {
	gone := func(f *fakeSite) {
		f.mu.Lock()
		defer f.mu.Unlock()
		off := edge.Provider{ID: "b", Health: edge.Offline, Status: edge.Unavailable}
		f.nodes = []edge.Node{{ID: "n", Announced: true, Providers: []edge.Provider{off}}}
		f.loadAt = func(string) time.Time { return time.Time{} }
	}
	t.Run("it stays away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, f, _ := running(t)
			gone(f)
			result, took, err := drained(t, s, 30)
			if err == nil || err.Error() != "What runs at b isn't known, since it has told no load after the drain." || took != 30*time.Second ||
				result["in_flight"] != nil || fmt.Sprint(result["unknown"]) != "[b]" {
				t.Errorf("after %v it ended with %v, %v", took, result, err)
			}
		})
	})
	t.Run("it comes back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, f, _ := running(t)
			gone(f)
			go func() {
				time.Sleep(10 * time.Second)
				f.mu.Lock()
				defer f.mu.Unlock()
				idle := provider("b")
				idle.General = edge.Counters{Capacity: 2}
				f.nodes = []edge.Node{{ID: "n", Announced: true, Connected: true, Providers: []edge.Provider{idle}}}
				f.loadAt = nil
			}()
			result, took, err := drained(t, s, 30)
			if err != nil || result["in_flight"] != uint64(0) || took < 10*time.Second || took > 10*time.Second+drainLook {
				t.Errorf("after %v it ended with %v, %v", took, result, err)
			}
		})
	})
}

// A node whose agent has never told of a provider may have some, and they may be at work.
func TestADrainWaitsForAnAgentThatHasToldNothing(t *testing.T) {
	for name, c := range map[string]struct {
		comes time.Duration
		want  string
	}{
		"it comes, and has none": {10 * time.Second, ""},
		"it doesn't come":        {time.Hour, "What runs at n isn't known, since it has told no load after the drain."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := running(t)
				f.set(func(n *edge.Node, _ *edge.Provider) { *n = edge.Node{ID: "n", Announced: true} })
				comes := time.AfterFunc(c.comes, func() {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.nodes = []edge.Node{{ID: "n", Announced: true, Connected: true}}
				})
				defer comes.Stop()
				result, took, err := drained(t, s, 30)
				if want := min(c.comes, 30*time.Second); took < want || took > want+drainLook {
					t.Errorf("it took %v", took)
				}
				if c.want == "" && (err != nil || result["in_flight"] != uint64(0)) ||
					c.want != "" && (err == nil || err.Error() != c.want || fmt.Sprint(result["unknown"]) != "[n]") {
					t.Errorf("it ended with %v, %v", result, err)
				}
			})
		})
	}
}

// For a moment, what isn't declared any more has gone from the site and not from the pool.
func TestADrainIsntFooledByANewDeclaration(t *testing.T) {
	for name, c := range map[string]struct {
		now  []edge.Node
		want string
	}{
		"without the provider": {[]edge.Node{{ID: "n"}}, "1 request still runs after 0s"},
		"without the node":     {nil, "The node was resumed, or declared anew, before it was empty."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := running(t)
				acquire(t, s)
				synctest.Wait() // the pool hears of nodes again in a tellGap
				f.mu.Lock()
				f.nodes = c.now
				f.mu.Unlock()
				if result, _, err := drained(t, s, 0); err == nil || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("it ended with %v, %v", result, err)
				}
			})
		})
	}
}

func TestADrainSaysWhatRunsAndWhatIsntKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		f.mu.Lock()
		f.loadAt = func(string) time.Time { return time.Time{} }
		f.nodes[0].Providers[1].General.InFlight = 0
		f.mu.Unlock()
		l := acquire(t, s)
		result, _, err := drained(t, s, 1)
		want := fmt.Sprintf("1 request still runs after 1s: %s (m at a, 1s). What runs at b isn't known, since it tells no load.", l.ID)
		if err == nil || err.Error() != want || result["in_flight"] != nil || len(result["running"].([]any)) != 1 {
			t.Errorf("it ended with %v, %v; want %s", result, err, want)
		}
		if _, err := structpb.NewStruct(result); err != nil {
			t.Errorf("the result can't be told: %v", err)
		}
	})
}

func TestADrainCountsMoreThan32BitsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		f.mu.Lock()
		f.nodes[0].Providers[1].General.InFlight, f.nodes[0].Providers[1].LongContext.InFlight = math.MaxUint32, 1
		f.mu.Unlock()
		if result, _, err := drained(t, s, 2); err == nil || result["in_flight"] != uint64(1<<32) {
			t.Errorf("it ended with %v, %v", result, err)
		}
	})
}

// A drain that was resumed has ended, whether or not the node is empty, or drained again, when that is seen.
func TestADrainThatWasResumedDoesntSucceed(t *testing.T) {
	for name, after := range map[string]func(*Site){
		"resumed":                 func(s *Site) { s.Pool().Resume("n") },
		"resumed and drained":     func(s *Site) { s.Pool().Resume("n"); s.Pool().Drain("n") },
		"resumed at the deadline": func(s *Site) { time.Sleep(30*time.Second - drainLook/2 - time.Millisecond); s.Pool().Resume("n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := running(t)
				f.mu.Lock()
				f.nodes[0].Providers = f.nodes[0].Providers[:1]
				f.mu.Unlock()
				l := acquire(t, s)
				go func() {
					time.Sleep(drainLook / 2) // between two looks
					after(s)
					l.Release()
				}()
				if result, _, err := drained(t, s, 30); err == nil || !strings.Contains(err.Error(), "was resumed") {
					t.Errorf("it ended with %v, %v", result, err)
				}
			})
		})
	}
}

func TestAResumeEndsADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := running(t)
		acquire(t, s)
		go func() {
			time.Sleep(time.Second)
			_, _ = do(t, s, "node.resume", "n", nil)
		}()
		if _, err := do(t, s, "node.drain", "n", nil); err == nil || !strings.Contains(err.Error(), "resumed") {
			t.Errorf("it ended with %v", err)
		}
	})
}
