//go:build linux

package main

import (
	"math/rand/v2"
	"time"
)

// Kind names what is done in a fault. docs/resilience.md tells what each of them is.
type Kind string

// Kinds.
const (
	DaemonStopped Kind = "daemon stopped"
	DaemonKilled  Kind = "daemon killed"
	TableFull     Kind = "descriptors full"
	LogBlocked    Kind = "log blocked"
	LogSlow       Kind = "log slow"
	EdgeStopped   Kind = "edge stopped"
	EdgeKilled    Kind = "edge killed"
	LinksReset    Kind = "links reset"
	LinksSilent   Kind = "links black-holed"
	HalfFrames    Kind = "half frames"
	DeafClient    Kind = "client never reads"
	DeafEdge      Kind = "edge never reads"
	ProxySlow     Kind = "proxy adds latency"
	ProxySliced   Kind = "proxy slices"
	ProxyCut      Kind = "proxy cuts"
	ProxyReorders Kind = "proxy reorders"
)

// kind is how faults of a Kind are drawn.
type kind struct {
	name     Kind
	cards    int           // in a deck: how often it comes, beside others
	min, max time.Duration // how long it lasts
	target   target
	most     int // Edges or peers of one fault
}

// target is what a fault is done to.
type target uint8

const (
	theDaemon target = iota // comes alone
	theLog                  // of the daemon; comes alone, so that what fails meanwhile is its doing
	realEdge                // one process
	someEdges               // of the fleet
	peers                   // of their own, which are nobody else's
	theProxy
)

var kinds = []kind{
	{DaemonStopped, 1, 200 * time.Millisecond, 6 * time.Second, theDaemon, 0},
	{DaemonKilled, 1, 0, 0, theDaemon, 0},
	{TableFull, 1, 500 * time.Millisecond, 2 * time.Second, theDaemon, 0},
	{LogBlocked, 1, time.Second, 3 * time.Second, theLog, 0},
	{LogSlow, 1, time.Second, 3 * time.Second, theLog, 0},
	{EdgeStopped, 2, 500 * time.Millisecond, 7 * time.Second, realEdge, 1},
	{EdgeKilled, 3, 0, time.Second, realEdge, 1},
	{LinksReset, 4, 0, 0, someEdges, 30},
	{LinksSilent, 4, time.Second, 5 * time.Second, someEdges, 10},
	{HalfFrames, 4, 0, 3 * time.Second, peers, 20},
	{DeafClient, 1, 15 * time.Second, 15 * time.Second, peers, 1},
	{DeafEdge, 2, 15 * time.Second, 15 * time.Second, peers, 1},
	{ProxySlow, 2, 300 * time.Millisecond, 2 * time.Second, theProxy, 0},
	{ProxySliced, 2, 300 * time.Millisecond, 2 * time.Second, theProxy, 0},
	{ProxyCut, 2, 0, time.Second, theProxy, 0},
	{ProxyReorders, 2, 600 * time.Millisecond, 2 * time.Second, theProxy, 0},
}

// Fault is one thing that is done.
type Fault struct {
	Number int           `json:"number"` // from 1
	Kind   Kind          `json:"kind"`
	At     time.Duration `json:"at_ns"`  // not before this, from the beginning
	For    time.Duration `json:"for_ns"` // at most, for what the Control Plane itself is to end
	// Edges are numbers of the fleet's, of the real ones, or how many peers there are, one entry each. The first one is asked
	// afterwards.
	Edges []int `json:"edges"`
	Size  int   `json:"size"` // of the fault, in a unit of its kind's: milliseconds, bytes, or which of several ways
}

// Plan is everything that is done, in its order.
type Plan struct {
	Seed   uint64  `json:"seed"`
	Faults []Fault `json:"faults"`
}

// stage is what there is to do something to.
type stage struct{ edges, real, proxied int }

// NewPlan draws a plan. The same arguments give the same plan. The first faults are one of each kind, if there are that many;
// after them each kind comes as often as it has cards.
func NewPlan(seed uint64, n int, lasts time.Duration, on stage) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Faults: make([]Fault, 0, n)}
	deck := shuffled(r, kinds, func(kind) int { return 1 })
	for i := range n {
		if len(deck) == 0 {
			deck = shuffled(r, kinds, func(k kind) int { return k.cards })
		}
		f := deck[0].draw(r, on)
		deck = deck[1:]
		f.Number = i + 1
		f.At = time.Duration((float64(i) + r.Float64()) / float64(n) * float64(lasts))
		p.Faults = append(p.Faults, f)
	}
	return p
}

func shuffled(r *rand.Rand, all []kind, cards func(kind) int) (deck []kind) {
	for _, k := range all {
		for range cards(k) {
			deck = append(deck, k)
		}
	}
	r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

func (k kind) draw(r *rand.Rand, on stage) Fault {
	f := Fault{Kind: k.name, For: k.min, Size: 1 + r.IntN(200)}
	if k.max > k.min {
		f.For += time.Duration(r.Int64N(int64(k.max - k.min)))
	}
	switch k.target {
	case realEdge:
		f.Edges = []int{r.IntN(on.real)}
	case someEdges, peers:
		f.Edges = r.Perm(on.edges)[:1+r.IntN(min(k.most, on.edges))]
	case theProxy:
		f.Edges = []int{r.IntN(on.proxied)}
	default:
		f.Edges = []int{r.IntN(on.edges)}
	}
	return f
}

func (f *Fault) target() target {
	for _, k := range kinds {
		if k.name == f.Kind {
			return k.target
		}
	}
	panic("a fault of no kind: " + string(f.Kind))
}

// place is something that one fault at a time may be done to.
type place struct {
	of     target
	number int
}

// places are those of a fault. One that comes alone has none: it waits for all others.
func (f *Fault) places() []place {
	switch t := f.target(); t {
	case someEdges, realEdge:
		all := make([]place, len(f.Edges))
		for i, n := range f.Edges {
			all[i] = place{t, n}
		}
		return all
	case theProxy:
		return []place{{of: t}}
	}
	return nil
}

func (f *Fault) alone() bool { return f.target() == theDaemon || f.target() == theLog }

// schedule decides what may be done at once.
type schedule struct {
	running map[int]*Fault
	taken   map[place]bool
}

func newSchedule() *schedule { return &schedule{running: map[int]*Fault{}, taken: map[place]bool{}} }

// begin takes the places of a fault; false while it has to wait for another.
func (s *schedule) begin(f *Fault) bool {
	if f.alone() && len(s.running) > 0 {
		return false
	}
	for _, other := range s.running {
		if other.alone() {
			return false
		}
	}
	for _, p := range f.places() {
		if s.taken[p] {
			return false
		}
	}
	s.running[f.Number] = f
	for _, p := range f.places() {
		s.taken[p] = true
	}
	return true
}

func (s *schedule) end(f *Fault) {
	delete(s.running, f.Number)
	for _, p := range f.places() {
		delete(s.taken, p)
	}
}
