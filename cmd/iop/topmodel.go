package main

import (
	"cmp"
	"slices"
	"time"

	"iop/client"
)

// mostTail bounds the events that are kept for the screen; the oldest go.
const mostTail = 200

// topModel is what the screen knows. Looks and events change it; picture shows it.
type topModel struct {
	app     *app
	address string
	at      time.Time // of the last look that brought something
	summary *client.FleetSummary
	err     error // the last look's

	edges  map[string]*topEdge
	sweep  int // counts the rounds through the fleet's pages
	silent map[string]*client.Edge
	more   map[client.State]int // that silent has no room for

	busiest []busyEdge // worked out once a look: the screen is drawn more often
	trouble []troubledEdge

	tail    []topLine
	lostErr error // the stream's; nil while it is there
}

// topEdge is what an Edge said when its page was looked at.
type topEdge struct {
	id     string
	status *client.Status
	fault  client.Code
	sums   sums
	sweep  int
}

// topLine is one line of the tail: an event, or that some are missing.
type topLine struct {
	event *client.Event
	gap   *client.Gap
}

func newTopModel(a *app) *topModel {
	return &topModel{app: a, address: a.address(), edges: map[string]*topEdge{}, silent: map[string]*client.Edge{}}
}

// take puts a look in. One that failed leaves what is there, which the picture then says is old.
func (m *topModel) take(look topLook) {
	if m.err = look.err; look.err != nil {
		return
	}
	m.at, m.summary = look.at, look.summary
	if look.first {
		m.sweep++
	}
	for _, s := range look.page.Statuses {
		m.edges[s.EdgeID] = &topEdge{id: s.EdgeID, status: s, sums: addUp(s), sweep: m.sweep}
	}
	for _, e := range look.page.Errors {
		m.edges[e.EdgeID] = &topEdge{id: e.EdgeID, fault: e.Code, sweep: m.sweep}
	}
	if look.last { // who was in no page of this round is gone
		for id, e := range m.edges {
			if e.sweep != m.sweep {
				delete(m.edges, id)
			}
		}
	}
	clear(m.silent)
	m.more = look.more
	for _, e := range look.silent {
		m.silent[e.EdgeID] = e
	}
	m.order()
}

// order works out who is busy and who is in trouble.
func (m *topModel) order() {
	m.busiest, m.trouble = m.busiest[:0], nil
	for _, e := range m.edges {
		edge, gone := m.registered(e)
		if e.status != nil && e.status.Connected && !gone {
			m.busiest = append(m.busiest, busyEdge{e.id, e.sums})
		}
		if trouble := m.app.trouble(edge, e.status, e.fault, nil); len(trouble) > 0 {
			m.trouble = append(m.trouble, troubledEdge{e.id, inShort(trouble, false), gone, len(trouble)})
		}
	}
	slices.SortFunc(m.busiest, busier)
	slices.SortFunc(m.trouble, worse)
}

// registered is what the registry says of an Edge that isn't all right; nil where it is. Those that silent has no room for are gone if
// their page says so, and since when isn't known. Without such a rest an Edge that isn't there has come back since its page.
func (m *topModel) registered(e *topEdge) (edge *client.Edge, gone bool) {
	edge = m.silent[e.id]
	wasGone := e.fault == client.EdgeDisconnected || e.status != nil && !e.status.Connected
	if edge == nil && wasGone && m.more[client.Disconnected] > 0 {
		edge = &client.Edge{EdgeID: e.id, State: client.Disconnected}
	}
	return edge, edge != nil && !edge.Connected
}

func (m *topModel) event(u client.Update) {
	if len(m.tail) == mostTail {
		m.tail = slices.Delete(m.tail, 0, 1)
	}
	m.tail = append(m.tail, topLine{u.Event, u.Gap})
}

// topPicture is what there is to draw, in the order of its importance.
type topPicture struct {
	address string
	now     time.Time
	clock   string // now, as times are shown
	at      time.Time
	summary *client.FleetSummary // nil before the first look
	problem string               // why the numbers are old, or the events
	busiest []busyEdge
	trouble []troubledEdge
	silent  int      // Edges that are silent, too, and not among those in trouble
	tail    []string // oldest first
}

type busyEdge struct {
	id   string
	sums sums
}

type troubledEdge struct {
	id, trouble string
	gone        bool
	parts       int
}

func (m *topModel) picture() *topPicture {
	now := m.app.now()
	p := &topPicture{address: m.address, now: now, clock: m.app.clock(now), at: m.at, summary: m.summary, busiest: m.busiest, trouble: m.trouble, silent: m.more[client.Stale]}
	switch {
	case m.err != nil:
		p.problem = m.app.explain(m.err).what
	case m.lostErr != nil:
		p.problem = "no live events: " + m.app.explain(m.lostErr).what
	}
	for _, line := range m.tail {
		if line.gap != nil {
			p.tail = append(p.tail, gapLine(line.gap, false))
		} else {
			p.tail = append(p.tail, m.app.eventLine(line.event))
		}
	}
	return p
}

// busier puts Edges first where requests wait, then those with the least room, then the larger ones.
func busier(x, y busyEdge) int {
	return cmp.Or(
		cmp.Compare(y.sums.general.Queued, x.sums.general.Queued),
		cmp.Compare(load(y.sums.general), load(x.sums.general)),
		cmp.Compare(y.sums.general.InFlight, x.sums.general.InFlight),
		cmp.Compare(x.id, y.id),
	)
}

// worse puts Edges first that are gone, then those with the most trouble.
func worse(x, y troubledEdge) int {
	if x.gone != y.gone {
		if x.gone {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(y.parts, x.parts), cmp.Compare(x.id, y.id))
}

// load is how much of the capacity is in use, 0 to 1; 0 where there is none.
func load(c client.Counters) float64 {
	if c.Capacity == 0 {
		return 0
	}
	return min(float64(c.InFlight)/float64(c.Capacity), 1)
}
