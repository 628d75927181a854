package lease

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// house is what a pool must be like, kept in the plainest way: what was said of providers, who holds, who waits.
type house struct {
	t        *rapid.T
	pool     *Pool
	specs    map[Key]Provider
	drained  map[string]bool
	disabled map[Key]bool
	held     []*Lease
	waiting  []*waiter // in the order they came
	came     map[*waiter]int
}

var (
	nodes  = []string{"n1", "n2"}
	names  = []string{"a", "b"}
	models = []string{"m1", "m2", "m3"}
)

const room = 5 // in the queue

// TestAgainstAModel takes, leaves, releases, cancels and orders at random, and looks at everything after each step.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &house{t: t, pool: New(Options{Queue: room}), specs: map[Key]Provider{}, drained: map[string]bool{}, disabled: map[Key]bool{}, came: map[*waiter]int{}}
		h.set()
		actions := map[string]func(*rapid.T){
			"":        func(*rapid.T) { h.check() },
			"acquire": func(*rapid.T) { h.acquire() }, "acquire more": func(*rapid.T) { h.acquire() }, "acquire again": func(*rapid.T) { h.acquire() },
			"release": func(*rapid.T) { h.release() }, "leave": func(*rapid.T) { h.leave() },
			"cancel": func(*rapid.T) { h.cancel() }, "set": func(*rapid.T) { h.set() }, "order": func(*rapid.T) { h.order() },
		}
		t.Repeat(actions)
	})
}

func (h *house) acquire() {
	c := class{rapid.SampledFrom(models).Draw(h.t, "model"), rapid.Bool().Draw(h.t, "long")}
	h.pool.mu.Lock()
	l, w, err := h.pool.take(context.Background(), c)
	h.pool.mu.Unlock()
	switch {
	case l != nil:
		for _, other := range h.waiting {
			if h.sameRoom(l, other.class) {
				h.t.Fatalf("%v got %v before %v, who waited", c, l.Key, other.class)
			}
		}
		h.held = append(h.held, l)
	case w != nil:
		h.waiting = append(h.waiting, w)
		h.came[w] = len(h.came)
	case errors.Is(err, ErrQueueFull):
		if len(h.waiting) != room {
			h.t.Fatalf("the queue is full with %d", len(h.waiting))
		}
	default:
		for key := range h.specs {
			if h.could(key, c) {
				h.t.Fatalf("%v is refused with %v, and %v could serve it", c, err, key)
			}
		}
		if want := h.whyNot(c); !errors.Is(err, want) {
			h.t.Fatalf("%v is refused with %v, want %v", c, err, want)
		}
	}
}

func (h *house) whyNot(c class) error {
	why := ErrNoModel
	for _, s := range h.specs {
		if !slices.Contains(s.Models, c.model) {
			continue
		}
		if !c.long || s.LongContext > 0 {
			return ErrNoProvider
		}
		why = ErrTooLong
	}
	return why
}

func (h *house) release() {
	if len(h.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.held)-1).Draw(h.t, "which")
	l := h.held[i]
	for range rapid.IntRange(1, 3).Draw(h.t, "times") {
		l.Release()
	}
	h.held = slices.Delete(h.held, i, i+1)
}

func (h *house) cancel() {
	if len(h.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.held)-1).Draw(h.t, "which")
	l := h.held[i]
	if h.pool.Cancel(l.ID) != l || !errors.Is(context.Cause(l.Context()), ErrCancelled) || h.pool.Cancel(l.ID) != nil {
		h.t.Fatalf("a cancelled lease ends with %v", context.Cause(l.Context()))
	}
	h.held = slices.Delete(h.held, i, i+1)
	l.Release() // as its holder will
}

func (h *house) leave() {
	if len(h.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.waiting)-1).Draw(h.t, "who")
	h.pool.leave(h.waiting[i])
	h.waiting = slices.Delete(h.waiting, i, i+1)
}

func (h *house) set() {
	h.specs = map[Key]Provider{}
	var all []Provider
	for _, n := range nodes {
		for _, p := range names {
			if rapid.IntRange(0, 4).Draw(h.t, "gone") == 0 {
				continue
			}
			s := Provider{
				Key: Key{n, p}, Models: rapid.SliceOfN(rapid.SampledFrom(models), 0, 3).Draw(h.t, "models"),
				General: rapid.Uint32Range(0, 3).Draw(h.t, "general"), LongContext: rapid.Uint32Range(0, 2).Draw(h.t, "long"),
				Offline: rapid.IntRange(0, 5).Draw(h.t, "offline") == 0, Suspect: rapid.IntRange(0, 5).Draw(h.t, "suspect") == 0,
			}
			h.specs[s.Key] = s
			all = append(all, s)
		}
	}
	h.pool.Set(all)
	for key := range h.disabled {
		if _, known := h.specs[key]; !known {
			delete(h.disabled, key)
		}
	}
	for node := range h.drained {
		if !h.knows(node) {
			delete(h.drained, node)
		}
	}
	h.held = slices.DeleteFunc(h.held, func(l *Lease) bool {
		s, known := h.specs[l.Key]
		ends := !known || s.Offline
		if ends != errors.Is(context.Cause(l.Context()), ErrGone) {
			h.t.Fatalf("gone is %v, and the lease's context ended with %v", ends, context.Cause(l.Context()))
		}
		if ends {
			l.Release()
		}
		return ends
	})
}

func (h *house) knows(node string) bool {
	return h.specs[Key{node, "a"}].Node != "" || h.specs[Key{node, "b"}].Node != ""
}

func (h *house) order() {
	key := Key{rapid.SampledFrom(nodes).Draw(h.t, "node"), rapid.SampledFrom(names).Draw(h.t, "provider")}
	_, known := h.specs[key]
	yes := rapid.Bool().Draw(h.t, "open")
	if rapid.Bool().Draw(h.t, "whole node") {
		known = h.knows(key.Node)
		order := h.pool.Drain
		if yes {
			order = h.pool.Resume
		}
		if order(key.Node) != known {
			h.t.Fatalf("node %s: known is %v", key.Node, known)
		}
		mark(h.drained, key.Node, known && !yes)
		return
	}
	order := h.pool.Disable
	if yes {
		order = h.pool.Enable
	}
	if order(key) != known {
		h.t.Fatalf("%v: known is %v", key, known)
	}
	mark(h.disabled, key, known && !yes)
}

// could tells whether a provider could serve a class, if it had room.
func (h *house) could(key Key, c class) bool {
	s, known := h.specs[key]
	return known && !s.Offline && !h.drained[key.Node] && !h.disabled[key] && slices.Contains(s.Models, c.model) && (!c.long || s.LongContext > 0)
}

// sameRoom tells whether what a lease took could have been used by a class. The room of a suspect is one for both.
func (h *house) sameRoom(l *Lease, c class) bool {
	return h.could(l.Key, c) && (l.LongContext == c.long || h.specs[l.Key].Suspect)
}

// check first sees who got what they waited for, then counts.
func (h *house) check() {
	h.seeWaiters()
	if len(h.waiting) > room {
		h.t.Fatalf("%d wait", len(h.waiting))
	}
	loads := h.pool.Loads()
	if len(loads) != len(h.specs) {
		h.t.Fatalf("%d providers are counted of %d", len(loads), len(h.specs))
	}
	for key, s := range h.specs {
		var want Load
		for _, l := range h.held {
			if l.Key == key && l.LongContext {
				want.LongInFlight++
			} else if l.Key == key {
				want.InFlight++
			}
		}
		for _, w := range h.waiting {
			if h.could(key, w.class) && w.class.long {
				want.LongQueued++
			} else if h.could(key, w.class) {
				want.Queued++
			}
		}
		if loads[key] != want {
			h.t.Fatalf("%v counts %+v, want %+v", key, loads[key], want)
		}
		h.nobodyWaitsFor(s, want)
	}
	live := h.pool.Live()
	if len(live) != len(h.held) {
		h.t.Fatalf("%d live leases, want %d", len(live), len(h.held))
	}
}

// nobodyWaitsFor is that room isn't left unused.
func (h *house) nobodyWaitsFor(s Provider, l Load) {
	for _, w := range h.waiting {
		free := s.General == 0 || l.InFlight < s.General
		if w.class.long {
			free = l.LongInFlight < s.LongContext
		}
		if s.Suspect {
			free = free && l.InFlight+l.LongInFlight == 0
		}
		if free && h.could(s.Key, w.class) {
			h.t.Fatalf("%v waits, and %+v has room with %+v", w.class, s, l)
		}
	}
}

func (h *house) seeWaiters() {
	var got []*waiter
	h.waiting = slices.DeleteFunc(h.waiting, func(w *waiter) bool {
		select {
		case <-w.ready:
			got = append(got, w)
			return true
		default:
			return false
		}
	})
	for _, w := range got {
		if w.lease == nil {
			if want := h.whyNot(w.class); !errors.Is(w.err, want) {
				h.t.Fatalf("%v was sent away with %v, want %v", w.class, w.err, want)
			}
			continue
		}
		h.held = append(h.held, w.lease)
		for _, other := range h.waiting {
			if h.came[other] < h.came[w] && h.sameRoom(w.lease, other.class) {
				h.t.Fatalf("%v overtook %v at %v", w.class, other.class, w.lease.Key)
			}
		}
	}
}
