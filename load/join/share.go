package join

import (
	"slices"
	"strconv"

	"iop/load"
)

// shareOf is the part of process i of n: its share of the Edges and of every rate, under a prefix of its own.
func shareOf(s load.Scenario, i, n int) load.Scenario {
	s.Edges.Count = share(s.Edges.Count, i, n)
	s.Edges.IDPrefix += strconv.Itoa(i) + "-"
	if s.Edges.ConnectRate > 0 {
		s.Edges.ConnectRate = max(1, share(s.Edges.ConnectRate, i, n))
	}
	t := &s.Traffic
	for _, rate := range []*int{&t.StatusRate, &t.SummaryRate, &t.CommandRate, &t.ClientRate, &t.SlowReaders} {
		*rate = share(*rate, i, n)
	}
	if t.Readers > 0 { // each process looks after the events of its own Edges
		t.Readers = max(1, share(t.Readers, i, n))
	}
	s.Disturb = slices.Clone(s.Disturb)
	for j := range s.Disturb {
		if rate := &s.Disturb[j].Rate; *rate > 0 {
			*rate = max(1, share(*rate, i, n))
		}
	}
	return s
}

// share divides so that all shares together are the whole.
func share(whole, i, n int) int { return whole*(i+1)/n - whole*i/n }
