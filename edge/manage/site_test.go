package manage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"iop/edge"
	"iop/edge/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSite is a Site whose nodes a test changes.
type fakeSite struct {
	mu      sync.Mutex
	nodes   []edge.Node
	loadAt  func(providerID string) time.Time // nil: a load is always of just now
	changed func()
}

func (f *fakeSite) Nodes() []edge.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loadAt == nil {
		f.loadAt = func(string) time.Time { return time.Now() }
	}
	nodes := slices.Clone(f.nodes)
	for i := range nodes {
		nodes[i].Providers = slices.Clone(nodes[i].Providers)
		for j := range nodes[i].Providers {
			p := &nodes[i].Providers[j]
			p.LoadAt = f.loadAt(p.ID)
		}
	}
	return nodes
}

func (f *fakeSite) Run(ctx context.Context, changed func()) {
	f.mu.Lock()
	f.changed = changed
	f.mu.Unlock()
	changed()
	<-ctx.Done()
}

// set changes a provider, and waits until whoever must know does.
func (f *fakeSite) set(change func(n *edge.Node, p *edge.Provider)) {
	f.mu.Lock()
	f.nodes = slices.Clone(f.nodes)
	n := &f.nodes[0]
	n.Providers = slices.Clone(n.Providers)
	change(n, &n.Providers[0])
	f.mu.Unlock()
	f.changed()
	pass(tellGap)
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func provider(id string) edge.Provider {
	return edge.Provider{ID: id, Type: "vllm", Models: []string{"m"}, Status: edge.Available, Health: edge.Online,
		General: edge.Counters{Capacity: 2, InFlight: 9, Queued: 9}, LongContext: edge.Counters{Capacity: 1}}
}

var a = lease.Key{Node: "n", Provider: "a"}

// running is a Site of one node, whose provider a is leased and whose provider b is not.
func running(t *testing.T) (*Site, *fakeSite, *atomic.Int32) {
	t.Helper()
	f := &fakeSite{nodes: []edge.Node{{ID: "n", Connected: true, Providers: []edge.Provider{provider("a"), provider("b")}}}}
	s := New(Options{Site: f, Queue: 4, Leased: func(_, id string) bool { return id == "a" }})
	told := new(atomic.Int32)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.Run(ctx, func() { told.Add(1) })
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	pass(2 * tellGap)
	return s, f, told
}

func acquire(t *testing.T, s *Site) *lease.Lease {
	t.Helper()
	l, err := s.Pool().Acquire(t.Context(), "m", false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *Site) shown() edge.Provider { return s.Nodes()[0].Providers[0] }

func TestNumbersAreTheLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, told := running(t)
		check := func(when string, status edge.Status, inFlight, queued uint32) {
			t.Helper()
			if p := s.shown(); p.Status != status || p.General != (edge.Counters{Capacity: 2, InFlight: inFlight, Queued: queued}) {
				t.Errorf("%s it is %+v", when, p)
			}
		}
		check("at first", edge.Available, 0, 0)
		first, second := acquire(t, s), acquire(t, s)
		go func() {
			l, err := s.Pool().Acquire(t.Context(), "m", false)
			if err != nil {
				t.Error(err)
				return
			}
			l.Release()
		}()
		before := told.Load()
		pass(tellGap)
		check("full", edge.Busy, 2, 1)
		if told.Load() == before {
			t.Error("nobody was told")
		}
		if b := s.Nodes()[0].Providers[1]; b.General.InFlight != 9 {
			t.Errorf("what isn't leased is %+v", b)
		}
		f.set(func(_ *edge.Node, p *edge.Provider) { p.Status = "" })
		check("full, and what its backend does can't be read", edge.Busy, 2, 1)
		f.set(func(_ *edge.Node, p *edge.Provider) { p.Health, p.Status = edge.Degraded, edge.Unavailable })
		check("degraded", edge.Unavailable, 2, 1)
		first.Release()
		second.Release()
		pass(tellGap)
		check("degraded and empty", edge.Unavailable, 0, 0)
	})
}

func TestALeaseEndsWithItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		l := acquire(t, s)
		f.set(func(n *edge.Node, p *edge.Provider) {
			n.Connected = false
			p.Health, p.Status, p.General, p.LongContext = edge.Offline, edge.Unavailable, edge.Counters{}, edge.Counters{}
		})
		if !errors.Is(context.Cause(l.Context()), lease.ErrGone) || s.shown().General != (edge.Counters{}) {
			t.Errorf("the lease ended with %v, the provider is %+v", context.Cause(l.Context()), s.shown())
		}
		f.set(func(n *edge.Node, p *edge.Provider) { n.Connected, *p = true, provider("a") })
		l.Release() // late
		if p := s.shown(); p.Status != edge.Available || p.General.InFlight != 0 || p.General.Capacity != 2 {
			t.Errorf("back it is %+v", p)
		}
	})
}

// A caller is told that there is no such model once everybody has told which there are, and not before.
func TestAModelIsntUnknownBeforeItsProviderHasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		for _, c := range []struct {
			models []string
			want   error
		}{{nil, lease.ErrNoProvider}, {[]string{}, lease.ErrNoModel}, {nil, lease.ErrNoProvider}, {[]string{"m2"}, lease.ErrNoModel}} {
			f.set(func(_ *edge.Node, p *edge.Provider) { p.Models = c.models })
			if _, err := s.Pool().Acquire(t.Context(), "m", false); !errors.Is(err, c.want) {
				t.Errorf("with %#v: %v, want %v", c.models, err, c.want)
			}
		}
	})
}

func TestASiteWithoutProvidersServesNoModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Site: &fakeSite{}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx, func() {}); close(done) }()
		synctest.Wait()
		if _, err := s.Pool().Acquire(t.Context(), "m", false); !errors.Is(err, lease.ErrNoModel) {
			t.Errorf("it is told %v", err)
		}
		cancel()
		<-done
	})
}

// A caller is told that its request is too long once nobody can have long-context capacity, and not while its provider is away.
func TestALongRequestIsntTooLongWhileItsProviderIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		long := func() error {
			l, err := s.Pool().Acquire(t.Context(), "m", true)
			if err == nil {
				l.Release()
			}
			return err
		}
		f.set(func(_ *edge.Node, p *edge.Provider) {
			p.Health, p.Status, p.General, p.LongContext = edge.Offline, edge.Unavailable, edge.Counters{}, edge.Counters{}
		})
		if err := long(); !errors.Is(err, lease.ErrNoProvider) {
			t.Errorf("while it is gone: %v", err)
		}
		f.set(func(_ *edge.Node, p *edge.Provider) { *p = provider("a") })
		if err := long(); err != nil {
			t.Errorf("back: %v", err)
		}
		f.set(func(_ *edge.Node, p *edge.Provider) { p.LongContext.Capacity = 0 })
		if err := long(); !errors.Is(err, lease.ErrTooLong) {
			t.Errorf("without long-context capacity: %v", err)
		}
	})
}

// What was declared can be disabled at once, and what isn't declared any more can't.
func TestWhatIsDeclaredIsKnownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := running(t)
		f.mu.Lock()
		f.nodes = []edge.Node{{ID: "n", Connected: true, Providers: []edge.Provider{provider("new")}}}
		f.mu.Unlock()
		s.Declared()
		if _, err := do(t, s, "provider.disable", "n", map[string]any{"provider_id": "new"}); err != nil {
			t.Error(err)
		}
		if _, err := do(t, s, "provider.disable", "n", map[string]any{"provider_id": "a"}); err == nil {
			t.Error("what isn't declared any more was disabled")
		}
	})
}

func TestNothingIsToldWhenNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, told := running(t)
		before := told.Load()
		pass(time.Hour)
		if n := told.Load() - before; n != 0 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestUnderLoadItIsToldAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, told := running(t)
		before := told.Load()
		for range 1000 {
			acquire(t, s).Release()
			time.Sleep(10 * time.Millisecond)
		}
		if n := told.Load() - before; n < 15 || n > 25 {
			t.Errorf("told %d times in 10 s", n)
		}
	})
}

// do runs an operation as the Edge does.
func do(t *testing.T, s *Site, operation, node string, parameters map[string]any) (map[string]any, error) {
	return s.Operations()[operation](t.Context(), &edge.Command{ID: "c", Operation: operation, NodeID: node, Parameters: parameters})
}

func TestRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := running(t)
		l := acquire(t, s)
		listed, err := do(t, s, "run.list", "", nil)
		if err != nil || listed["total"] != 1 || listed["leases"].([]any)[0].(map[string]any)["lease_id"] != l.ID {
			t.Errorf("listed %v, %v", listed, err)
		}
		if listed, _ := do(t, s, "run.list", "other", nil); listed["total"] != 0 {
			t.Errorf("at another node %v", listed)
		}
		cancelled, err := do(t, s, "run.cancel", "", map[string]any{"lease_id": l.ID})
		if err != nil || cancelled["provider_id"] != "a" || !errors.Is(context.Cause(l.Context()), lease.ErrCancelled) || s.Pool().Loads()[a].InFlight != 0 {
			t.Errorf("cancelled %v, %v", cancelled, err)
		}
	})
}

func TestBadCommandsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := running(t)
		for name, c := range map[string]struct {
			operation, node string
			parameters      map[string]any
			want            string
		}{
			"no node":              {"node.drain", "", nil, "needs a node_id"},
			"another node":         {"node.resume", "x", nil, `no node "x"`},
			"a mistyped parameter": {"node.drain", "n", map[string]any{"deadline": 5.0}, "takes deadline_seconds"},
			"no number":            {"node.drain", "n", map[string]any{"deadline_seconds": "5"}, "isn't a number"},
			"a negative number":    {"node.drain", "n", map[string]any{"deadline_seconds": -1.0}, "isn't a number"},
			"takes none":           {"node.resume", "n", map[string]any{"x": nil}, "takes none"},
			"no node of it":        {"provider.disable", "", map[string]any{"provider_id": "a"}, "needs a node_id"},
			"no provider":          {"provider.disable", "n", nil, "provider_id is missing"},
			"another provider":     {"provider.enable", "n", map[string]any{"provider_id": "x"}, `no provider "x"`},
			"no lease":             {"run.cancel", "", map[string]any{"lease_id": "x"}, "no such lease"},
		} {
			if _, err := do(t, s, c.operation, c.node, c.parameters); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			if s.Pool().Drained("n") {
				t.Fatalf("%s: and the node is drained", name)
			}
		}
	})
}
