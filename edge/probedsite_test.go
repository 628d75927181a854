package edge

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iop/edge/backend"
)

// scripted is a ProbedSite whose providers answer what a test says.
type scripted struct {
	*ProbedSite
	mu      sync.Mutex
	answers map[string]func(context.Context) answer
	asked   map[string]int
	changes atomic.Int32
}

func scriptedSite(t *testing.T, nodes ...ProbedNode) *scripted {
	t.Helper()
	site, err := NewProbedSite(ProbeOptions{Nodes: nodes, Interval: 10 * time.Second, Timeout: 2 * time.Second, Logger: quietLog})
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{ProbedSite: site, answers: map[string]func(context.Context) answer{}, asked: map[string]int{}}
	for _, p := range site.probes {
		id := p.spec.ID
		p.ask = func(ctx context.Context) answer {
			s.mu.Lock()
			s.asked[id]++
			f := s.answers[id]
			s.mu.Unlock()
			return f(ctx)
		}
	}
	return s
}

func (s *scripted) set(id string, f func(context.Context) answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[id] = f
}

func answers(running uint32) func(context.Context) answer {
	return func(context.Context) answer {
		return answer{load: &backend.Load{Running: running, Exported: true}, models: []string{"m"}}
	}
}

func refuses(context.Context) answer { return answer{err: backend.ErrRefused} }

func hangs(ctx context.Context) answer {
	select {
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
	}
	return answer{err: backend.ErrTimeout}
}

func (s *scripted) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.Run(ctx, func() { s.changes.Add(1) })
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

// pass lets time pass, and what is due then be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func probed(id string, providers ...string) ProbedNode {
	n := ProbedNode{ID: id, Name: "name of " + id, Labels: map[string]string{"k": "v"}}
	for _, p := range providers {
		n.Providers = append(n.Providers, ProbedProvider{ID: p, Type: "vllm", BaseURL: "http://10.0.0.7:8000", Capacity: 4})
	}
	return n
}

func TestANodeIsConnectedWhileOneProviderAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a", "b"), probed("empty"))
		s.set("a", answers(1))
		s.set("b", refuses)
		s.start(t)
		check := func(when string, connected bool, a, b Health) {
			t.Helper()
			nodes := s.Nodes()
			n := nodes[0]
			if n.Connected != connected || n.Providers[0].Health != a || n.Providers[1].Health != b || n.Name != "name of gpu-1" || n.Labels["k"] != "v" {
				t.Errorf("%s: %+v", when, n)
			}
			if nodes[1].Connected || nodes[1].ID != "empty" {
				t.Errorf("a node without providers is %+v", nodes[1])
			}
		}
		check("at the start", true, Online, Offline)
		s.set("a", refuses)
		pass(10 * time.Second)
		check("after one failure", true, Online, Offline)
		pass(5 * time.Second)
		check("after the second, within the interval", false, Offline, Offline)
		s.set("b", answers(0))
		pass(10 * time.Second)
		check("when the other comes", true, Offline, Online)
	})
}

func TestProbesKeepTheirPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"))
		s.set("a", answers(1))
		s.start(t)
		pass(1000 * time.Second)
		if n := s.asked["a"]; n < 100 || n > 112 {
			t.Errorf("asked %d times in 100 intervals", n)
		}
		if n := s.changes.Load(); n != 1 {
			t.Errorf("%d changes of what stays the same", n)
		}
	})
}

func TestNothingIsToldBeforeAllWereAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"), probed("gpu-2", "b"))
		s.set("a", answers(1))
		s.set("b", hangs)
		s.start(t)
		if s.changes.Load() != 0 {
			t.Error("told while a provider was not asked yet")
		}
		pass(2 * time.Second)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times when all were asked", s.changes.Load())
		}
		s.set("a", answers(2))
		pass(10 * time.Second)
		if s.changes.Load() != 2 {
			t.Errorf("told %d times after a change", s.changes.Load())
		}
	})
}

// A provider that hangs at the start hides the others for firstLook, though nothing is probed just then; and only once.
func TestAProviderThatHangsAtTheStartHidesNothingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"), probed("gpu-2", "b"))
		s.set("a", answers(1))
		s.set("b", func(ctx context.Context) answer { <-ctx.Done(); return answer{err: backend.ErrTimeout} })
		s.start(t)
		pass(firstLook - 1)
		if s.changes.Load() != 0 {
			t.Error("told while a provider was not asked yet")
		}
		pass(1)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times after %v", s.changes.Load(), firstLook)
		}
		pass(time.Minute)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times of what stays the same", s.changes.Load())
		}
		s.set("a", answers(2))
		pass(10 * time.Second)
		if s.changes.Load() != 2 {
			t.Errorf("told %d times after a change", s.changes.Load())
		}
	})
}

// A load that can't be read any more is seen and logged once, and so is its return; one that is only newer is no news.
func TestALoadThatCantBeReadIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := scriptedSite(t, probed("gpu-1", "a")), &syncBuffer{}
		s.log = slog.New(slog.NewTextHandler(log, nil))
		s.set("a", func(context.Context) answer {
			return answer{load: &backend.Load{Running: 1, Exported: true}, at: time.Now()}
		})
		s.start(t)
		begun := s.Nodes()[0].Providers[0].LoadAt
		pass(10 * time.Second)
		if p := s.Nodes()[0].Providers[0]; !p.LoadAt.After(begun) || s.changes.Load() != 1 {
			t.Errorf("told again it is %+v, told %d times", p, s.changes.Load())
		}
		for i, c := range []struct {
			mute answer
			why  string
		}{{answer{loadErr: backend.StatusError(500)}, "status 500"}, {answer{load: &backend.Load{}}, "no gauges"}} {
			s.set("a", func(context.Context) answer { return c.mute })
			pass(time.Minute)
			p := s.Nodes()[0].Providers[0]
			if p.Status != "" || p.Health != Online || p.General != (Counters{4, 1, 0}) || s.changes.Load() != int32(2+2*i) {
				t.Errorf("mute it is %+v, told %d times", p, s.changes.Load())
			}
			if n := strings.Count(log.String(), "what runs there can't be read"); n != 1+i || !strings.Contains(log.String(), c.why) {
				t.Errorf("it is logged %d times:\n%s", n, log)
			}
			s.set("a", answers(1))
			pass(time.Minute)
			if p := s.Nodes()[0].Providers[0]; p.Status != Available || strings.Count(log.String(), "A provider is online.") != 2+i {
				t.Errorf("back it is %+v, and the log says\n%s", p, log)
			}
		}
	})
}

// A provider that answers and doesn't tell its models is one whose models aren't known, which is logged once. That it has
// none is news, and known.
func TestModelsThatArentToldAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := probed("gpu-1", "a")
		s, log := scriptedSite(t, node), &syncBuffer{}
		s.log = slog.New(slog.NewTextHandler(log, nil))
		untold := func(context.Context) answer {
			return answer{load: &backend.Load{}, modelsErr: backend.StatusError(401), slotsErr: backend.StatusError(402)}
		}
		s.set("a", untold)
		s.start(t)
		pass(time.Minute)
		for _, why := range []string{"status 401", "status 402"} {
			if n := strings.Count(log.String(), why); n != 1 {
				t.Errorf("%s is logged %d times:\n%s", why, n, log)
			}
		}
		if p := s.Nodes()[0].Providers[0]; p.Models != nil || p.Health != Online || s.changes.Load() != 1 {
			t.Errorf("untold it is %+v, told %d times", p, s.changes.Load())
		}
		s.set("a", func(context.Context) answer { return answer{load: &backend.Load{}, models: []string{}} })
		pass(time.Minute)
		if p := s.Nodes()[0].Providers[0]; p.Models == nil || s.changes.Load() != 2 {
			t.Errorf("with none it is %+v, told %d times", p, s.changes.Load())
		}
		s.set("a", untold)
		pass(time.Minute)
		if n := strings.Count(log.String(), "status 401"); n != 2 {
			t.Errorf("the second time it is logged %d times:\n%s", n, log)
		}
	})
}

func TestSiteOptionsAreChecked(t *testing.T) {
	_, err := NewProbedSite(ProbeOptions{Nodes: []ProbedNode{
		probed("a", "p", "p"), probed("a"), probed(""),
		{ID: "b", Providers: []ProbedProvider{{ID: "x", Type: "vllm", BaseURL: "10.0.0.7:8000"}, {ID: "y", Type: "none", BaseURL: "http://10.0.0.7"}, {BaseURL: "http://h", Type: "tgi"}}},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d problems: %v", n, err)
	}
	if strings.Contains(err.Error(), "10.0.0.7") {
		t.Errorf("an address is told: %v", err)
	}
}
