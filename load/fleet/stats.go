package fleet

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// stats are counted by the shards and read by anybody.
type stats struct {
	connected   atomic.Int64 // Edges
	links       atomic.Int64 // connections that are open
	fullAt      atomic.Int64 // when the last Edge of all was connected, on the fleet's clock; the last time and the first
	firstFullAt atomic.Int64
	hellos      atomic.Uint64
	reconnects  atomic.Uint64
	heartbeats  atomic.Uint64
	snapshots   atomic.Uint64
	events      atomic.Uint64
	commands    atomic.Uint64
	strays      atomic.Uint64

	mu    sync.Mutex
	kinds map[string]uint64
}

// Stats are a Fleet's counts since it began.
type Stats struct {
	Connected  int
	FirstFull  time.Time // when all Edges were connected for the first time; zero: never
	Hellos     uint64    // accepted
	Reconnects uint64    // hellos accepted of Edges that had been connected before
	Heartbeats uint64
	Snapshots  uint64 // pushed
	Events     uint64
	Commands   uint64            // run
	Strays     uint64            // answers of Edges that were told to answer late, or what nobody asked
	Troubles   map[string]uint64 // dials that failed, refused hellos and ends of links that this side didn't begin, by kind
}

// Stats gives the counts.
func (f *Fleet) Stats() Stats {
	s := &f.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	var first time.Time
	if at := s.firstFullAt.Load(); at != 0 {
		first = f.began.Add(time.Duration(at))
	}
	return Stats{
		Connected: f.Connected(), FirstFull: first, Hellos: s.hellos.Load(), Reconnects: s.reconnects.Load(), Heartbeats: s.heartbeats.Load(),
		Snapshots: s.snapshots.Load(), Events: s.events.Load(), Commands: s.commands.Load(), Strays: s.strays.Load(),
		Troubles: maps.Clone(s.kinds),
	}
}

func (s *stats) trouble(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds[kind]++
}

// Add adds another fleet's; FirstFull stays.
func (s *Stats) Add(o Stats) {
	s.Connected += o.Connected
	s.Hellos += o.Hellos
	s.Reconnects += o.Reconnects
	s.Heartbeats += o.Heartbeats
	s.Snapshots += o.Snapshots
	s.Events += o.Events
	s.Commands += o.Commands
	s.Strays += o.Strays
	if s.Troubles == nil {
		s.Troubles = map[string]uint64{}
	}
	for kind, n := range o.Troubles {
		s.Troubles[kind] += n
	}
}
