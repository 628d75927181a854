package httpapi

import (
	"sync"

	"iop/actors"
	"iop/wire"
)

// fleetStatus answers with the totals over all that match and a page of what each Edge said or why it said nothing. Only
// the first page asks Edges; the next ones show what is kept, by the first page's measure of what is acceptable.
func (s *Server) fleetStatus(c *call) *problem {
	q := c.query()
	labels, timeout, maxAge := q.labels(), q.timeout(), q.fleetAge()
	limit, place := q.limit(), q.fleetCursor(s.run)
	if q.problem != nil {
		return q.problem
	}
	var n *gathered
	var p *problem
	if place == nil {
		n, p = s.gatherFleet(c, labels, maxAge, timeout)
	} else {
		n, p = s.keptFleet(c, labels, place)
	}
	if p != nil {
		return p
	}
	page := &fleetPage{gathered: n, limit: limit, tally: newTally(), statuses: borrow(), errors: borrow()}
	defer giveBack(page.statuses)
	defer giveBack(page.errors)
	if place != nil {
		page.after = place.last
	}
	n.each(page.take)
	next := ""
	if page.more {
		if place == nil {
			place = &fleetPlace{run: s.run, gather: s.gathers.keep(n.faults), since: n.since}
		}
		next = fleetPlace{run: s.run, gather: place.gather, since: place.since, last: page.last}.encode()
	}
	c.render(func(b []byte) []byte { return page.append(b, next) })
	return nil
}

// keptFleet is the fleet as it is known now, with what the first page's Edges answered.
func (s *Server) keptFleet(c *call, labels labels, place *fleetPlace) (*gathered, *problem) {
	f, p := c.fleet()
	if p != nil {
		return nil, p
	}
	return &gathered{s: s, fleet: f, labels: labels, since: place.since,
		faults: s.gathers.faults(place.gather)}, nil
}

// fleetPage collects one page: statuses and errors share its limit, in one order by edge_id.
type fleetPage struct {
	*gathered
	tally            tally
	after            string // the edge_id that the last page ended with
	limit, listed    int
	last             string
	more             bool
	statuses, errors *[]byte
}

func (p *fleetPage) take(v *actors.View, acceptable *actors.Snapshot) {
	p.tally.count(p.fleet, v, acceptable)
	if v.EdgeID <= p.after {
		return
	}
	if p.listed == p.limit {
		p.more = true
		return
	}
	p.listed, p.last = p.listed+1, v.EdgeID
	if acceptable == nil {
		*p.errors = appendEdgeFault(appendComma(*p.errors), v.EdgeID, p.fault(v))
		return
	}
	*p.statuses = appendStatus(appendComma(*p.statuses), acceptable, statusOrigin{
		live:      v.Connected && p.answers(v.EdgeID),
		connected: v.Connected,
		age:       p.fleet.Age(acceptable),
	})
}

// appendComma goes before every element but the first of a buffer that holds a list's elements alone.
func appendComma(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return append(b, ',')
}

func appendEdgeFault(b []byte, edgeID string, code wire.Code) []byte {
	b = append(b, `{"edge_id":`...)
	b = appendString(b, edgeID)
	b = append(b, `,"code":`...)
	b = appendString(b, string(code))
	return append(b, '}')
}

func (p *fleetPage) append(b []byte, next string) []byte {
	b = append(b, '{')
	b = p.tally.appendMembers(b, p.fleet.At)
	b = append(b, `,"statuses":[`...)
	b = append(b, *p.statuses...)
	b = append(b, `],"errors":[`...)
	b = append(b, *p.errors...)
	b = append(b, `],"next_cursor":`...)
	b = appendStringOrNull(b, next)
	return append(b, '}')
}

// gathers remembers how the Edges failed that the last few first pages asked, for the pages after them. Only
// codes that can't be told from a View are kept, so that it is small; of gathers beyond keptGathers the oldest is
// forgotten, and its later pages say edge_timeout for an Edge that is connected.
type gathers struct {
	mu   sync.Mutex
	last uint32
	kept [keptGathers]keptGather
}

type keptGather struct {
	number uint32
	faults map[string]wire.Code
}

const keptGathers = 16

// keep gives the number under which the faults are found again; 0 where there is nothing to find.
func (g *gathers) keep(faults map[string]wire.Code) uint32 {
	odd := map[string]wire.Code{}
	for edgeID, code := range faults {
		if code != wire.EdgeTimeout && code != wire.EdgeDisconnected {
			odd[edgeID] = code
		}
	}
	if len(odd) == 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	g.kept[g.last%keptGathers] = keptGather{number: g.last, faults: odd}
	return g.last
}

func (g *gathers) faults(number uint32) map[string]wire.Code {
	g.mu.Lock()
	defer g.mu.Unlock()
	if k := g.kept[number%keptGathers]; number != 0 && k.number == number {
		return k.faults // not changed once kept
	}
	return nil
}
