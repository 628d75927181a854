package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func on(node, name string, capacity uint32, models ...string) Provider {
	return Provider{Key: Key{node, name}, General: capacity, Models: models}
}

func poolOf(queue int, providers ...Provider) *Pool {
	p := New(Options{Queue: queue})
	set(p, providers)
	return p
}

// set gives a pool providers, and no nodes but theirs.
func set(p *Pool, providers []Provider) {
	var nodes []string
	for _, on := range providers {
		nodes = append(nodes, on.Node)
	}
	p.Set(nodes, providers)
}

func acquire(t *testing.T, p *Pool, model string) *Lease {
	t.Helper()
	l, err := p.Acquire(t.Context(), model, false)
	if err != nil {
		t.Fatalf("no lease: %v", err)
	}
	return l
}

func TestOneThatWaitsGetsWhatIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poolOf(1, on("n", "a", 1, "m"))
		first := acquire(t, p, "m")
		var got *Lease
		go func() { got, _ = p.Acquire(t.Context(), "m", false) }()
		synctest.Wait()
		if l := p.Loads()[Key{"n", "a"}]; l != (Load{InFlight: 1, Queued: 1}) || got != nil {
			t.Errorf("while it waits there is %+v and %v", l, got)
		}
		if _, err := p.Acquire(t.Context(), "m", false); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one more is told %v", err)
		}
		first.Release()
		synctest.Wait()
		if l := p.Loads()[Key{"n", "a"}]; l != (Load{InFlight: 1}) || got == nil || got.ID == first.ID {
			t.Errorf("after it there is %+v and %v", l, got)
		}
		if first.Context().Err() == nil {
			t.Error("the context of a released lease goes on")
		}
		got.Release()
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poolOf(1, on("n", "a", 1, "m"))
		held := acquire(t, p, "m")
		why := errors.New("the caller hung up")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		if _, err := p.Acquire(ctx, "m", false); !errors.Is(err, why) {
			t.Errorf("it ended with %v", err)
		}
		if _, err := p.Acquire(ctx, "m", false); !errors.Is(err, why) {
			t.Errorf("with an ended context it ended with %v", err)
		}
		if l := p.Loads()[held.Key]; l != (Load{InFlight: 1}) {
			t.Errorf("left is %+v", l)
		}
		held.Release()
	})
}

func TestTheEmptiestProviderIsTaken(t *testing.T) {
	suspect := on("n", "c", 100, "m")
	suspect.Suspect = true
	p := poolOf(0, on("n", "a", 2, "m"), on("n", "b", 4, "m"), suspect)
	var got strings.Builder
	for range 7 {
		got.WriteString(acquire(t, p, "m").Provider)
	}
	if got.String() != "abbabbc" {
		t.Errorf("taken were %s", got.String())
	}
	if _, err := p.Acquire(t.Context(), "m", false); !errors.Is(err, ErrQueueFull) {
		t.Errorf("a suspect one takes a second: %v", err)
	}
}

func TestADrainedNodeSendsWaitersAwayAndKeepsItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poolOf(5, on("n", "a", 1, "m"))
		held := acquire(t, p, "m")
		told := make(chan error, 1)
		go func() {
			_, err := p.Acquire(t.Context(), "m", false)
			told <- err
		}()
		synctest.Wait()
		p.Drain("n")
		if err := <-told; !errors.Is(err, ErrNoProvider) {
			t.Errorf("who waited is told %v", err)
		}
		if held.Context().Err() != nil || p.Loads()[held.Key] != (Load{InFlight: 1}) || !p.Closed(held.Key) {
			t.Errorf("the lease ended, or counts %+v", p.Loads()[held.Key])
		}
		held.Release()
		if _, err := p.Acquire(t.Context(), "m", false); !errors.Is(err, ErrNoProvider) {
			t.Errorf("a new one is told %v", err)
		}
		p.Resume("n")
		acquire(t, p, "m").Release()
	})
}

// A model whose providers are all gone for a moment is no unknown one: callers don't ask again for those.
func TestAModelIsntUnknownWhileItsProviderIsGone(t *testing.T) {
	offline := func(p Provider) Provider { p.Offline = true; return p }
	orders := func(p Provider) Provider { p.OrdersOnly = true; return p }
	up, gone := on("n", "a", 1, "m"), offline(on("n", "a", 1))
	other := on("n", "b", 1, "other")
	for name, c := range map[string]struct {
		sets [][]Provider
		want error
	}{
		"before anything is said":         {nil, ErrNoProvider},
		"it answers, and doesn't tell":    {[][]Provider{{on("n", "a", 1), other}}, ErrNoProvider},
		"it told, and is back untold":     {[][]Provider{{up}, {gone}, {on("n", "a", 1)}}, ErrNoProvider},
		"it tells that it has none":       {[][]Provider{{on("n", "a", 1, []string{}...), other}}, ErrNoModel},
		"it told none, and is gone":       {[][]Provider{{on("n", "a", 1, []string{}...), other}, {gone, other}}, ErrNoModel},
		"it never told":                   {[][]Provider{{gone, other}}, ErrNoProvider},
		"it told, and is gone":            {[][]Provider{{up, other}, {gone, other}}, ErrNoProvider},
		"and for long":                    {[][]Provider{{up}, {gone}, {gone}, {gone}}, ErrNoProvider},
		"it is back with others":          {[][]Provider{{up}, {gone}, {on("n", "a", 1, "other")}}, ErrNoModel},
		"it serves others":                {[][]Provider{{on("n", "a", 1, "other")}, {gone}}, ErrNoModel},
		"it isn't declared any more":      {[][]Provider{{up, other}, {other}}, ErrNoModel},
		"nobody has it":                   {[][]Provider{{other}}, ErrNoModel},
		"there is nobody":                 {[][]Provider{{}}, ErrNoModel},
		"one for orders alone tells none": {[][]Provider{{orders(gone), other}}, ErrNoModel},
	} {
		p := New(Options{Queue: 1})
		for _, providers := range c.sets {
			set(p, providers)
		}
		if _, err := p.Acquire(t.Context(), "m", false); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if slices.Contains(p.Models(), "m") {
			t.Errorf("%s: it is listed", name)
		}
	}
}

func TestADrainAfterAResumeIsAnother(t *testing.T) {
	p := poolOf(0, on("n", "a", 1, "m"))
	if p.DrainOf("n") != 0 {
		t.Error("it is drained")
	}
	first := p.Drain("n")
	if again := p.Drain("n"); first == 0 || again != first || p.DrainOf("n") != first {
		t.Errorf("drained twice the drain is %d, and was %d", again, first)
	}
	p.Resume("n")
	if again := p.Drain("n"); again == 0 || again == first {
		t.Errorf("after a resume the drain is %d, and was %d", again, first)
	}
}

// A node may have no providers for a while: its agent says so, or has never said any.
func TestADrainIsOfTheNodeWhateverItsProviders(t *testing.T) {
	p := New(Options{})
	node := []string{"n"}
	p.Set(node, nil)
	drain := p.Drain("n")
	if drain == 0 || p.Drain("other") != 0 {
		t.Errorf("the drain is %d", drain)
	}
	for _, providers := range [][]Provider{{on("n", "a", 1, "m")}, nil, {on("n", "a", 1, "m")}} {
		if p.Set(node, providers); p.DrainOf("n") != drain {
			t.Errorf("with %d providers the drain is %d, and was %d", len(providers), p.DrainOf("n"), drain)
		}
	}
	if p.Set(nil, nil); p.DrainOf("n") != 0 || p.Resume("n") {
		t.Error("it is drained, though it isn't declared")
	}
}

// TestNothingIsLostUnderStress has many goroutines take and give back, while nodes go, come and are drained, runs are
// cancelled, and callers hang up. At no moment is there more in flight than there is capacity, and at the end nothing is.
func TestNothingIsLostUnderStress(t *testing.T) {
	both := []Provider{on("n1", "a", 3, "m1", "m2"), on("n2", "b", 2, "m2")}
	p := poolOf(8, both...)
	capacities := map[Key]uint32{both[0].Key: 3, both[1].Key: 2}
	stop := make(chan struct{})
	var unrest, callers sync.WaitGroup
	unrest.Go(func() { disturb(p, both, stop) })
	var served, refused atomic.Int32
	for i := range 16 {
		callers.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
				l, err := p.Acquire(ctx, fmt.Sprintf("m%d", 1+i%2), false)
				if err != nil {
					refused.Add(1)
				} else {
					served.Add(1)
					l.Release()
					l.Release()
				}
				cancel()
				for key, load := range p.Loads() {
					if load.InFlight > capacities[key] || load.Queued > 8 {
						t.Errorf("%v counts %+v", key, load)
					}
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	unrest.Wait()
	set(p, both)
	for key, load := range p.Loads() {
		if load != (Load{}) {
			t.Errorf("at the end %v counts %+v", key, load)
		}
	}
	if len(p.waiting) != 0 || len(p.pressure) != 0 || len(p.Live()) != 0 || served.Load() == 0 {
		t.Errorf("left are %d waiting, pressure %v and %d leases; %d served, %d refused", len(p.waiting), p.pressure, len(p.Live()), served.Load(), refused.Load())
	}
}

func disturb(p *Pool, all []Provider, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Microsecond):
		}
		switch rand.IntN(6) {
		case 0:
			set(p, all[:1])
		case 1:
			set(p, all)
		case 2:
			p.Drain("n1")
		case 3:
			p.Resume("n1")
		case 4:
			for _, l := range p.Live() {
				p.Cancel(l.ID)
			}
		case 5:
			p.Disable(all[1].Key)
			p.Enable(all[1].Key)
		}
	}
}

// BenchmarkAcquire is a lease taken and given back at a site of 400 providers.
func BenchmarkAcquire(b *testing.B) {
	var all []Provider
	for i := range 400 {
		all = append(all, on(fmt.Sprint(i/4), fmt.Sprint(i), 8, fmt.Sprintf("m%d", i%20)))
	}
	p := poolOf(64, all...)
	for b.Loop() {
		l, err := p.Acquire(context.Background(), "m7", false)
		if err != nil {
			b.Fatal(err)
		}
		l.Release()
	}
}

// TestWhoHangsUpGivesBackWhatItWasGiven: a waiter gets its lease in the same moment as its context ends.
func TestWhoHangsUpGivesBackWhatItWasGiven(t *testing.T) {
	p := poolOf(1, on("n", "a", 1, "m"))
	held := acquire(t, p, "m")
	p.mu.Lock()
	_, w, err := p.take(t.Context(), class{"m", false})
	p.mu.Unlock()
	if w == nil {
		t.Fatalf("it doesn't wait: %v", err)
	}
	held.Release()
	p.leave(w)
	if l := p.Loads()[held.Key]; l != (Load{}) {
		t.Errorf("left is %+v", l)
	}
}
