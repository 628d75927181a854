package edge

import "time"

// pushGap is the least time between two pushes of a snapshot on one connection, as the protocol has it.
const pushGap = time.Second

// pushes decides when a snapshot is pushed: once at the start, and after a change at once, or as soon as the gap
// allows; changes in between are one push. The zero value wants the first push.
type pushes struct {
	at      time.Time // of the last push; zero: none yet
	changed bool      // something may have changed since
	sent    []Node
	untold  bool // sent was not
}

func (p *pushes) due(now time.Time) bool {
	return p.at.IsZero() || p.changed && !now.Before(p.at.Add(pushGap))
}

// wake is when the next push is due, if one is.
func (p *pushes) wake() (at time.Time, waiting bool) {
	return p.at.Add(pushGap), p.changed && !p.at.IsZero()
}

// take tells whether these nodes are news, and if so counts them as pushed.
func (p *pushes) take(nodes []Node, now time.Time) bool {
	first := p.at.IsZero()
	p.changed = false
	if !first && !p.untold && equalNodes(p.sent, nodes) {
		return false
	}
	p.at, p.sent, p.untold = now, nodes, false
	return true
}

// refused notes that what take counted as pushed had no room: it is tried again after the gap, whatever it is by then.
func (p *pushes) refused() { p.changed, p.untold = true, true }
