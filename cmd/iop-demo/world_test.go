package main

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"iop/edge"
)

func worldOf(seed uint64) *world { return newWorld(rand.New(rand.NewPCG(seed, 0))) }

func TestTheSameSeedIsTheSameFate(t *testing.T) {
	a, b, other := worldOf(5), worldOf(5), worldOf(6)
	differs := false
	for range 500 {
		a.step()
		b.step()
		other.step()
		if !reflect.DeepEqual(a.view(), b.view()) {
			t.Fatal("two worlds of one seed differ")
		}
		differs = differs || !reflect.DeepEqual(a.view(), other.view())
	}
	if !differs {
		t.Error("another seed is the same world")
	}
}

func TestAWorldMakesSense(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(20) {
		w := worldOf(seed)
		for range 1000 {
			w.step()
			for _, n := range w.view() {
				online := false
				for _, p := range n.Providers {
					check(t, p)
					online = online || p.Health == edge.Online
					seen[string(p.Status)] = true
					seen["queued"] = seen["queued"] || p.General.Queued > 0
				}
				if n.Connected != online {
					t.Fatalf("node %+v", n)
				}
				seen["node down"] = seen["node down"] || !n.Connected
			}
		}
	}
	for _, what := range []string{"available", "busy", "unavailable", "queued", "node down"} {
		if !seen[what] {
			t.Errorf("in 20 worlds of 1000 steps nothing was %s", what)
		}
	}
}

func check(t *testing.T, p edge.Provider) {
	t.Helper()
	idle := edge.Counters{}
	switch {
	case p.Health == edge.Offline && (p.Status != edge.Unavailable || p.General != idle || p.LongContext != idle),
		p.Health == edge.Online && p.Status != edge.Busy && p.Status != edge.Available,
		p.General.InFlight > p.General.Capacity, p.LongContext.InFlight > p.LongContext.Capacity,
		(p.Status == edge.Busy) != (p.Health == edge.Online && p.General.InFlight == p.General.Capacity),
		len(p.Models) == 0:
		t.Fatalf("provider %+v", p)
	}
}

func TestLoadAndRestart(t *testing.T) {
	w := worldOf(defaultSeed)
	id := w.machines[0].services[0].id
	before := w.view()
	if got := w.load("gpu-1", "new"); got != id {
		t.Errorf("loaded on %q, want %q", got, id)
	}
	w.load("gpu-1", "new")
	if got := w.view()[0].Providers[0].Models; len(got) != 2 || got[1] != "new" || len(before[0].Providers[0].Models) != 1 {
		t.Errorf("models are %v, and were %v", got, before[0].Providers[0].Models)
	}
	w.restart("gpu-1")
	if w.view()[0].Connected {
		t.Error("a node that restarts is connected")
	}
	if got := w.load("gpu-1", "another") + w.load("gpu-99", "another"); got != "" {
		t.Errorf("loaded on %q, which isn't there", got)
	}
	w.restart("gpu-99")
	for range shortest {
		w.step()
	}
	if !w.view()[0].Connected {
		t.Error("a node that restarted doesn't come back")
	}
}
