package fleet

import "time"

// Behaviour is how an Edge behaves.
type Behaviour uint8

// Behaviours.
const (
	Honest Behaviour = iota
	Mute             // hangs: says and hears nothing, but keeps the link open
	Late             // answers after a delay
	Wrong            // answers nonsense
	Slow             // waits before each read
)

// Behave has Edges behave in a way for a while. delay is what Late and Slow wait. When its time is over, a Mute Edge
// connects anew and leaves the old link to the peer.
func (f *Fleet) Behave(numbers []int, b Behaviour, delay, forTime time.Duration) {
	f.each(numbers, func(e *edge) {
		e.behaviour, e.delay = b, delay
		if b == Slow {
			e.pause.Store(int64(delay))
		}
		e.later(forTime, e.comeHome)
	})
}

func (e *edge) comeHome() {
	was := e.behaviour
	e.behaviour = Honest
	e.pause.Store(0)
	switch {
	case was == Mute && (e.link == nil || e.state == serving):
		e.queueDial()
	case was == Slow: // its reader may be waiting still
		e.later(e.delay, e.settle)
	default:
		e.settle()
	}
}

// settle tells callers that an Edge which was disturbed is as it should be, if it is.
func (e *edge) settle() {
	if e.state == serving && e.behaviour == Honest && e.twin == nil && e.shard.f.now() >= e.ownFrom {
		e.shard.f.calm[e.number].disturbed.Store(false)
	}
}

// ResetLinks ends the links of Edges with RST; they come back as after any loss.
func (f *Fleet) ResetLinks(numbers []int) {
	f.each(numbers, (*edge).resetLink)
}

// ResetAllLinks is ResetLinks of all Edges.
func (f *Fleet) ResetAllLinks() {
	all := make([]int, f.opts.Count)
	for i := range all {
		all[i] = i
	}
	f.ResetLinks(all)
}

// leave has Edges go and come back after a while; politely, or without a goodbye, as when their process ends.
func (f *Fleet) leave(numbers []int, politely bool, away time.Duration) {
	f.each(numbers, func(e *edge) {
		if e.state != serving {
			return
		}
		link := e.link
		if politely {
			e.leave()
		} else {
			e.offline()
			link.Abort()
		}
		e.after(away, dialNow)
	})
}

// Clone starts a second Edge with the id of each for a while: another process that was copied with its configuration.
func (f *Fleet) Clone(numbers []int, forTime time.Duration) {
	f.each(numbers, func(e *edge) {
		if e.twin != nil {
			return
		}
		twin := newEdge(e.shard, e.number, true)
		e.twin, twin.twin = twin, e
		twin.queueDial()
		e.later(forTime, func() { e.endTwin() })
	})
}

// lastClaim is how long what a clone began may have effect after it left: its hello may be on the way, and take the id once more.
const lastClaim = 2 * time.Second

func (e *edge) endTwin() {
	twin := e.twin
	twin.leave()
	twin.gone = true
	e.twin = nil
	e.ownFrom = e.later(lastClaim, e.settle)
}

// Disturb tells that all Edges are about to lose their links through no fault of the Control Plane.
func (f *Fleet) Disturb() {
	for i := range f.calm {
		f.calm[i].disturb()
	}
}

// Unsettle has all Edges count as disturbed while do goes on, also those that come back meanwhile, and then resets their links. It is
// for what ends some of the links again and again: which of them isn't known here, nor when.
func (f *Fleet) Unsettle(do func()) {
	f.unsettled.Add(1)
	defer f.unsettled.Add(-1)
	f.Disturb()
	do()
	f.ResetAllLinks()
}

// each gives an order to Edges; from then on their callers know that they are disturbed, until all is well again. That is noted where
// the Edges live: noted before, it could be taken back by one that was about to become well and is given the order afterwards.
func (f *Fleet) each(numbers []int, order func(*edge)) {
	all := map[int]bool{}
	for _, n := range numbers {
		all[n] = true
	}
	f.eachShard(func(s *shard) {
		for _, e := range s.edges {
			if all[e.number] {
				f.calm[e.number].disturb()
				order(e)
			}
		}
	})
}
