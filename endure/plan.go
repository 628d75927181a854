//go:build linux

package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// faultKind names what is done in a fault. docs/resilience.md tells what each of them is.
type faultKind string

// Kinds.
const (
	daemonStopped   faultKind = "daemon stopped"
	daemonKilled    faultKind = "daemon killed"
	tableFull       faultKind = "descriptors full"
	logBlocked      faultKind = "log blocked"
	logSlow         faultKind = "log slow"
	edgeStopped     faultKind = "edge stopped"
	edgeKilled      faultKind = "edge killed"
	linksReset      faultKind = "links reset"
	linksSilent     faultKind = "links black-holed"
	linksLongSilent faultKind = "links black-holed for long"
	halfFrames      faultKind = "half frames"
	halfFramesLong  faultKind = "half frames for long"
	deafClient      faultKind = "client never reads"
	deafEdge        faultKind = "edge never reads"
	proxySlow       faultKind = "proxy adds latency"
	proxySliced     faultKind = "proxy slices"
	proxyCut        faultKind = "proxy cuts"
	proxyReorders   faultKind = "proxy reorders"
)

// recipe is how faults of a kind are drawn.
type recipe struct {
	name     faultKind
	cards    int           // in a deck: how often it comes, beside others
	min, max time.Duration // how long it lasts; if it is for long, beyond what the daemon waits for
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

// endTime is how long after its time limit the daemon may take to end a connection.
const endTime = 2 * time.Second

var recipes = []recipe{
	{daemonStopped, 1, 200 * time.Millisecond, 6 * time.Second, theDaemon, 0},
	{daemonKilled, 1, 0, 0, theDaemon, 0},
	{tableFull, 1, 500 * time.Millisecond, 2 * time.Second, theDaemon, 0},
	{logBlocked, 1, time.Second, 2 * time.Second, theLog, 0},
	{logSlow, 1, time.Second, 2 * time.Second, theLog, 0},
	{edgeStopped, 2, 500 * time.Millisecond, 7 * time.Second, realEdge, 1},
	{edgeKilled, 3, 0, time.Second, realEdge, 1},
	{linksReset, 4, 0, 0, someEdges, 30},
	{linksSilent, 4, time.Second, 3 * time.Second, someEdges, 10},
	{linksLongSilent, 1, endTime + time.Second, endTime + 2*time.Second, someEdges, 10},
	{halfFrames, 4, 0, 2 * time.Second, peers, 20},
	{halfFramesLong, 1, endTime, endTime, peers, 20},
	{deafClient, 1, 15 * time.Second, 15 * time.Second, peers, 1},
	{deafEdge, 2, 15 * time.Second, 15 * time.Second, peers, 1},
	{proxySlow, 2, 300 * time.Millisecond, 2 * time.Second, theProxy, 0},
	{proxySliced, 2, 300 * time.Millisecond, 2 * time.Second, theProxy, 0},
	{proxyCut, 2, 0, time.Second, theProxy, 0},
	{proxyReorders, 2, 600 * time.Millisecond, 2 * time.Second, theProxy, 0},
}

// fault is one thing that is done.
type fault struct {
	Number int           `json:"number"` // from 1
	Kind   faultKind     `json:"kind"`
	At     time.Duration `json:"at_ns"`  // not before this, from the beginning
	For    time.Duration `json:"for_ns"` // at most, for what the Control Plane itself is to end
	// Edges are numbers of the fleet's, of the real ones, or how many peers there are, one entry each. The first one is asked
	// afterwards.
	Edges []int `json:"edges"`
	Size  int   `json:"size"` // of the fault, in a unit of its kind's: milliseconds, bytes, or which of several ways
}

// plan is everything that is done, in its order.
type plan struct {
	Seed   uint64  `json:"seed"`
	Faults []fault `json:"faults"`
}

// stage is what there is to do something to.
type stage struct {
	edges, real, proxied int
	silence              time.Duration // that the daemon bears
}

// startPercent of the time of a plan is for faults to begin in. The rest is for those under way, and for what had to wait.
const startPercent = 95

// newPlan draws a plan. The same arguments give the same plan. The first faults are one of each kind, if there are that many;
// after them each kind comes as often as it has cards. In the last quarter the daemon isn't killed, so that what it holds at the end
// it may have gathered for long.
func newPlan(seed uint64, n int, lasts time.Duration, on stage) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := plan{Seed: seed, Faults: make([]fault, 0, n)}
	calm := n - n/4 // no kill from there on
	deck := shuffled(r, recipes, func(recipe) int { return 1 })
	if i := slices.IndexFunc(deck, recipe.kills); calm <= i && i < n {
		deck[i], deck[calm-1] = deck[calm-1], deck[i]
	}
	top := func() (k recipe) {
		if len(deck) == 0 {
			deck = shuffled(r, recipes, func(k recipe) int { return k.cards })
		}
		k, deck = deck[0], deck[1:]
		return k
	}
	for i := range n {
		k := top()
		for k.kills() && i >= calm {
			k = top()
		}
		f := k.draw(r, on)
		f.Number = i + 1
		f.At = time.Duration((float64(i) + r.Float64()) / float64(n) * float64(lasts) * startPercent / 100)
		p.Faults = append(p.Faults, f)
	}
	return p
}

func shuffled(r *rand.Rand, all []recipe, cards func(recipe) int) (deck []recipe) {
	for _, k := range all {
		for range cards(k) {
			deck = append(deck, k)
		}
	}
	r.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

func (k recipe) kills() bool { return k.name == daemonKilled }

func (k recipe) draw(r *rand.Rand, on stage) fault {
	f := fault{Kind: k.name, For: k.min, Size: 1 + r.IntN(200)}
	if k.max > k.min {
		f.For += time.Duration(r.Int64N(int64(k.max - k.min)))
	}
	if k.name == linksLongSilent || k.name == halfFramesLong {
		f.For += on.silence
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

func (f *fault) target() target {
	for _, k := range recipes {
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
func (f *fault) places() []place {
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
	if f.Kind == deafClient { // the daemon's counts tell of one alone why it was closed
		return []place{{of: peers}}
	}
	return nil
}

func (f *fault) alone() bool { return f.target() == theDaemon || f.target() == theLog }

// schedule decides what may be done at once.
type schedule struct {
	running map[int]*fault
	taken   map[place]bool
}

func newSchedule() *schedule { return &schedule{running: map[int]*fault{}, taken: map[place]bool{}} }

// begin takes the places of a fault; false while it has to wait for another.
func (s *schedule) begin(f *fault) bool {
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

func (s *schedule) end(f *fault) {
	delete(s.running, f.Number)
	for _, p := range f.places() {
		delete(s.taken, p)
	}
}
