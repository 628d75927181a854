package lease

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// poolModel is what a pool must be like, kept in the plainest way: what was said of providers, who holds, who waits.
type poolModel struct {
	t        *rapid.T
	pool     *Pool
	nodes    []string
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

const places = 5 // in the queue

// TestAgainstAModel takes, leaves, releases, cancels and orders at random, and looks at everything after each step.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &poolModel{t: t, pool: New(Options{Queue: places}), specs: map[Key]Provider{}, drained: map[string]bool{}, disabled: map[Key]bool{}, came: map[*waiter]int{}}
		m.set()
		actions := map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.check() },
			"acquire": func(*rapid.T) { m.acquire() }, "acquire more": func(*rapid.T) { m.acquire() }, "acquire again": func(*rapid.T) { m.acquire() },
			"release": func(*rapid.T) { m.release() }, "leave": func(*rapid.T) { m.leave() },
			"cancel": func(*rapid.T) { m.cancel() }, "set": func(*rapid.T) { m.set() }, "order": func(*rapid.T) { m.order() },
		}
		t.Repeat(actions)
	})
}

func (m *poolModel) acquire() {
	c := class{rapid.SampledFrom(models).Draw(m.t, "model"), rapid.Bool().Draw(m.t, "long")}
	m.pool.mu.Lock()
	l, w, err := m.pool.take(context.Background(), c)
	m.pool.mu.Unlock()
	switch {
	case l != nil:
		for _, other := range m.waiting {
			if m.sameCapacity(l, other.class) {
				m.t.Fatalf("%v got %v before %v, who waited", c, l.Key, other.class)
			}
		}
		m.held = append(m.held, l)
	case w != nil:
		m.waiting = append(m.waiting, w)
		m.came[w] = len(m.came)
	case errors.Is(err, ErrQueueFull):
		if len(m.waiting) != places {
			m.t.Fatalf("the queue is full with %d", len(m.waiting))
		}
	default:
		for key := range m.specs {
			if m.could(key, c) {
				m.t.Fatalf("%v is refused with %v, and %v could serve it", c, err, key)
			}
		}
		if want := m.whyNot(c); !errors.Is(err, want) {
			m.t.Fatalf("%v is refused with %v, want %v", c, err, want)
		}
	}
}

func (m *poolModel) whyNot(c class) error {
	why := ErrNoModel
	for _, s := range m.specs {
		if !s.OrdersOnly && s.Models == nil {
			why = ErrNoProvider
		}
	}
	for _, s := range m.specs {
		if !slices.Contains(s.Models, c.model) {
			continue
		}
		if !c.long || s.Offline || s.LongContext > 0 {
			return ErrNoProvider
		}
		why = ErrTooLong
	}
	return why
}

func (m *poolModel) release() {
	if len(m.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(m.t, "which")
	l := m.held[i]
	for range rapid.IntRange(1, 3).Draw(m.t, "times") {
		l.Release()
	}
	m.held = slices.Delete(m.held, i, i+1)
}

func (m *poolModel) cancel() {
	if len(m.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(m.t, "which")
	l := m.held[i]
	if m.pool.Cancel(l.ID) != l || !errors.Is(context.Cause(l.Context()), ErrCancelled) || m.pool.Cancel(l.ID) != nil {
		m.t.Fatalf("a cancelled lease ends with %v", context.Cause(l.Context()))
	}
	m.held = slices.Delete(m.held, i, i+1)
	l.Release() // as its holder will
}

func (m *poolModel) leave() {
	if len(m.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.waiting)-1).Draw(m.t, "who")
	m.pool.leave(m.waiting[i])
	m.waiting = slices.Delete(m.waiting, i, i+1)
}

func (m *poolModel) set() {
	before := m.specs
	m.specs = map[Key]Provider{}
	m.nodes = nil
	var all []Provider
	for _, n := range nodes {
		if rapid.IntRange(0, 4).Draw(m.t, "node gone") == 0 {
			continue
		}
		m.nodes = append(m.nodes, n)
		for _, p := range names {
			if rapid.IntRange(0, 4).Draw(m.t, "gone") == 0 {
				continue
			}
			s := Provider{
				Key: Key{n, p}, Models: rapid.SliceOfN(rapid.SampledFrom(models), 0, 3).Draw(m.t, "models"),
				General: rapid.Uint32Range(0, 3).Draw(m.t, "general"), LongContext: rapid.Uint32Range(0, 2).Draw(m.t, "long"),
				Offline: rapid.IntRange(0, 5).Draw(m.t, "offline") == 0, Suspect: rapid.IntRange(0, 5).Draw(m.t, "suspect") == 0,
			}
			if len(s.Models) == 0 {
				s.Models = nil
				if rapid.Bool().Draw(m.t, "told none") {
					s.Models = []string{}
				}
				s.OrdersOnly = rapid.Bool().Draw(m.t, "orders only")
			}
			if s.Offline { // as a site shows it
				s.General, s.LongContext = 0, 0
			}
			all = append(all, s)
			if s.Offline && s.Models == nil {
				s.Models = before[s.Key].Models
			}
			m.specs[s.Key] = s
		}
	}
	m.pool.Set(m.nodes, all)
	for key := range m.disabled {
		if _, known := m.specs[key]; !known {
			delete(m.disabled, key)
		}
	}
	for node := range m.drained {
		if !slices.Contains(m.nodes, node) {
			delete(m.drained, node)
		}
	}
	m.held = slices.DeleteFunc(m.held, func(l *Lease) bool {
		s, known := m.specs[l.Key]
		ends := !known || s.Offline
		if ends != errors.Is(context.Cause(l.Context()), ErrGone) {
			m.t.Fatalf("gone is %v, and the lease's context ended with %v", ends, context.Cause(l.Context()))
		}
		if ends {
			l.Release()
		}
		return ends
	})
}

func (m *poolModel) order() {
	key := Key{rapid.SampledFrom(nodes).Draw(m.t, "node"), rapid.SampledFrom(names).Draw(m.t, "provider")}
	_, known := m.specs[key]
	yes := rapid.Bool().Draw(m.t, "open")
	if rapid.Bool().Draw(m.t, "whole node") {
		known = slices.Contains(m.nodes, key.Node)
		order := func(node string) bool { return m.pool.Drain(node) != 0 }
		if yes {
			order = m.pool.Resume
		}
		if order(key.Node) != known {
			m.t.Fatalf("node %s: known is %v", key.Node, known)
		}
		m.drained[key.Node] = known && !yes
		return
	}
	order := m.pool.Disable
	if yes {
		order = m.pool.Enable
	}
	if order(key) != known {
		m.t.Fatalf("%v: known is %v", key, known)
	}
	m.disabled[key] = known && !yes
}

// could tells whether a provider could serve a class, if it had free capacity.
func (m *poolModel) could(key Key, c class) bool {
	s, known := m.specs[key]
	return known && !s.Offline && !m.drained[key.Node] && !m.disabled[key] && slices.Contains(s.Models, c.model) && (!c.long || s.LongContext > 0)
}

// sameCapacity tells whether what a lease took could have been used by a class. The capacity of a suspect is one for both.
func (m *poolModel) sameCapacity(l *Lease, c class) bool {
	return m.could(l.Key, c) && (l.LongContext == c.long || m.specs[l.Key].Suspect)
}

// check first sees who got what they waited for, then counts.
func (m *poolModel) check() {
	m.seeWaiters()
	if len(m.waiting) > places {
		m.t.Fatalf("%d wait", len(m.waiting))
	}
	loads := m.pool.Loads()
	if len(loads) != len(m.specs) {
		m.t.Fatalf("%d providers are counted of %d", len(loads), len(m.specs))
	}
	for key, s := range m.specs {
		var want Load
		for _, l := range m.held {
			if l.Key == key && l.LongContext {
				want.LongInFlight++
			} else if l.Key == key {
				want.InFlight++
			}
		}
		for _, w := range m.waiting {
			if m.could(key, w.class) && w.class.long {
				want.LongQueued++
			} else if m.could(key, w.class) {
				want.Queued++
			}
		}
		if loads[key] != want {
			m.t.Fatalf("%v counts %+v, want %+v", key, loads[key], want)
		}
		m.nobodyWaitsFor(s, want)
	}
	live := m.pool.Live()
	if len(live) != len(m.held) {
		m.t.Fatalf("%d live leases, want %d", len(live), len(m.held))
	}
}

// nobodyWaitsFor is that capacity isn't left unused.
func (m *poolModel) nobodyWaitsFor(s Provider, l Load) {
	for _, w := range m.waiting {
		free := s.General == 0 || l.InFlight < s.General
		if w.class.long {
			free = l.LongInFlight < s.LongContext
		}
		if s.Suspect {
			free = free && l.InFlight+l.LongInFlight == 0
		}
		if free && m.could(s.Key, w.class) {
			m.t.Fatalf("%v waits, and %+v has free capacity with %+v", w.class, s, l)
		}
	}
}

func (m *poolModel) seeWaiters() {
	var got []*waiter
	m.waiting = slices.DeleteFunc(m.waiting, func(w *waiter) bool {
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
			if want := m.whyNot(w.class); !errors.Is(w.err, want) {
				m.t.Fatalf("%v was sent away with %v, want %v", w.class, w.err, want)
			}
			continue
		}
		m.held = append(m.held, w.lease)
		for _, other := range m.waiting {
			if m.came[other] < m.came[w] && m.sameCapacity(w.lease, other.class) {
				m.t.Fatalf("%v overtook %v at %v", w.class, other.class, w.lease.Key)
			}
		}
	}
}
