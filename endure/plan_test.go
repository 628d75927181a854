//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var wide = stage{edges: 100, real: 3, proxied: 20, silence: 5 * time.Second}

func TestSameSeedSamePlan(t *testing.T) {
	for _, seed := range []uint64{0, 1, 42, 1 << 63} {
		one, two := newPlan(seed, 300, time.Minute, wide), newPlan(seed, 300, time.Minute, wide)
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("seed %d gives two plans:\n%s", seed, diff)
		}
		if cmp.Equal(one.Faults, newPlan(seed+1, 300, time.Minute, wide).Faults) {
			t.Errorf("seeds %d and %d give one plan", seed, seed+1)
		}
	}
}

func TestPlan(t *testing.T) {
	const n = 500
	lasts := 10 * time.Minute
	p := newPlan(7, n, lasts, wide)
	first, counts := map[faultKind]bool{}, map[faultKind]int{}
	for i, f := range p.Faults {
		if i < len(recipes) {
			first[f.Kind] = true
		}
		counts[f.Kind]++
		if f.Number != i+1 || f.At < 0 || f.At > lasts || i > 0 && f.At < p.Faults[i-1].At {
			t.Errorf("fault %d: number %d at %v", i+1, f.Number, f.At)
		}
		if len(f.Edges) == 0 {
			t.Errorf("fault %d, %s, has nobody to ask afterwards", f.Number, f.Kind)
		}
		seen, most := map[int]bool{}, map[target]int{realEdge: wide.real, theProxy: wide.proxied}[f.target()]
		if most == 0 {
			most = wide.edges
		}
		for _, e := range f.Edges {
			if e < 0 || e >= most || seen[e] {
				t.Errorf("fault %d, %s, is done to %v", f.Number, f.Kind, f.Edges)
			}
			seen[e] = true
		}
	}
	if len(p.Faults) != n || len(first) != len(recipes) {
		t.Errorf("%d faults; among the first are %d kinds of %d", len(p.Faults), len(first), len(recipes))
	}
	cards := 0
	for _, k := range recipes {
		cards += k.cards
	}
	for _, k := range recipes {
		want := n * k.cards / cards
		if k.name == daemonKilled {
			want = want * 3 / 4
		}
		if got := counts[k.name]; got < want-k.cards-1 || got > want+k.cards+1 {
			t.Errorf("%s comes %d times, want some %d", k.name, got, want)
		}
	}
}

// What is judged at the end, the daemon has had a quarter of the run to gather.
func TestNoKillInTheLastQuarter(t *testing.T) {
	for seed := range uint64(20) {
		for _, n := range []int{4, len(recipes), 100, 500} {
			for i, f := range newPlan(seed, n, time.Minute, wide).Faults {
				if f.Kind == daemonKilled && i >= n-n/4 {
					t.Errorf("seed %d: fault %d of %d kills the daemon", seed, i+1, n)
				}
			}
		}
	}
}

// A plan of as many faults as there are kinds has one of each, and so have the first faults of a longer one.
func TestOneOfEachKindFirst(t *testing.T) {
	for seed := range uint64(100) {
		for n := len(recipes); n < len(recipes)+10; n++ {
			first := map[faultKind]bool{}
			for _, f := range newPlan(seed, n, time.Minute, wide).Faults[:len(recipes)] {
				first[f.Kind] = true
			}
			if len(first) != len(recipes) {
				t.Errorf("seed %d: among the first of %d faults are %d kinds of %d", seed, n, len(first), len(recipes))
			}
		}
	}
}

// What is there for the daemon to end by itself, it has the time to end.
func TestLongFaultsOutlastTheDaemonsLimits(t *testing.T) {
	for _, f := range newPlan(7, 500, 10*time.Minute, wide).Faults {
		if (f.Kind == linksLongSilent || f.Kind == halfFramesLong) && f.For < max(helloTime, wide.silence)+endTime {
			t.Errorf("fault %d, %s, lasts %v", f.Number, f.Kind, f.For)
		}
	}
}

// A hello that is late is so by more than it takes an Edge to give up that link and say another one.
func TestReorderingReorders(t *testing.T) {
	for _, f := range newPlan(7, 500, 10*time.Minute, wide).Faults {
		if next := f.For/reorderRounds + firstRetry; f.Kind == proxyReorders && f.late() <= next {
			t.Errorf("fault %d is late by %v, and the next hello comes after %v", f.Number, f.late(), next)
		}
	}
}

// As many faults as make chaos does are done in the time that it says, though some wait for others.
func TestAPlanFitsItsTime(t *testing.T) {
	const lasts = 10 * time.Minute
	for seed := range uint64(20) {
		p := newPlan(seed, 500, lasts, stage{edges: 300, real: 3, proxied: 60, silence: 5 * time.Second})
		if got := timeOf(&p); got > lasts {
			t.Errorf("seed %d: it takes %v", seed, got)
		}
	}
}

// timeOf is how long a plan takes at least.
func timeOf(p *plan) (at time.Duration) {
	const after = 200 * time.Millisecond // it is steady again
	s, ends := newSchedule(), map[*fault]time.Duration{}
	endOne := func() {
		var first *fault
		for f, end := range ends {
			if first == nil || end < ends[first] {
				first = f
			}
		}
		at = max(at, ends[first])
		s.end(first)
		delete(ends, first)
	}
	for i := range p.Faults {
		f := &p.Faults[i]
		for at = max(at, f.At); !s.begin(f); {
			endOne()
		}
		lasts := f.For
		switch f.Kind {
		case deafClient, deafEdge: // the daemon ends them
			lasts = 3 * time.Second
		case proxyReorders:
			lasts += f.letGo()
		case daemonKilled: // it starts, and the records are looked at before
			lasts = 2 * time.Second
		}
		ends[f] = at + lasts + after
	}
	for len(ends) > 0 {
		endOne()
	}
	return at
}

func TestFewFaults(t *testing.T) {
	if p := newPlan(1, 3, time.Second, stage{1, 1, 1, time.Second}); len(p.Faults) != 3 {
		t.Errorf("%d faults, want 3", len(p.Faults))
	}
}

func TestWhatMayOverlap(t *testing.T) {
	one := func(k faultKind, edges ...int) *fault { return &fault{Kind: k, Edges: edges} }
	for _, c := range []struct {
		name     string
		running  *fault
		next     *fault
		overlaps bool
	}{
		{"different Edges", one(linksReset, 1, 2), one(linksSilent, 3), true},
		{"one Edge of both", one(linksReset, 1, 2), one(linksSilent, 3, 2), false},
		{"an Edge of the fleet and a real one", one(linksReset, 1), one(edgeKilled, 1), true},
		{"one real Edge", one(edgeStopped, 1), one(edgeKilled, 1), false},
		{"the proxy, once only", one(proxySlow, 1), one(proxyCut, 2), false},
		{"peers disturb nobody", one(deafEdge, 1), one(deafEdge, 1), true},
		{"the daemon waits for others", one(linksReset, 1), one(daemonKilled, 2), false},
		{"others wait for the daemon", one(daemonStopped, 1), one(linksReset, 2), false},
		{"others wait for the log", one(logBlocked, 1), one(halfFrames, 2), false},
	} {
		s := newSchedule()
		c.running.Number, c.next.Number = 1, 2
		if !s.begin(c.running) {
			t.Fatalf("%s: the first one has to wait", c.name)
		}
		if got := s.begin(c.next); got != c.overlaps {
			t.Errorf("%s: overlaps %v, want %v", c.name, got, c.overlaps)
		}
		if !c.overlaps {
			s.end(c.running)
			if !s.begin(c.next) {
				t.Errorf("%s: it still waits when the other is over", c.name)
			}
		}
	}
}
