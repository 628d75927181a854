package actors

// pending is the table of requests that one Edge hasn't answered. A request that has timed out stays until its place is
// needed, so that no timer runs for it; it no longer counts, and its answer comes too late. The list holds less than twice the
// limit of those that timed out.
type pending struct {
	limit   int       // of requests by callers; over it the next caller is told busy
	lastID  uint64    // begins anywhere, so that what is still answered of an earlier connection, of an earlier process too, meets nothing
	waiting []request // few, so a list; an idle Edge keeps none
	counted int       // of waiting, those by callers
}

// request is one unanswered request and whom its answer is for.
type request struct {
	id       uint64
	deadline int64 // monotonic
	target   any   // *statusAsk, commandID, *queryCommands or *probeOwner
}

// commandID is an operation's id where it says whom an answer is for.
type commandID string

// byCaller tells whether a request takes a caller's place; what the Control Plane asks for itself doesn't.
func (r request) byCaller() bool {
	switch r.target.(type) {
	case *statusAsk, commandID:
		return true
	}
	return false
}

// add gives the id for a new request; false when the Edge has too many unanswered.
func (p *pending) add(target any, deadline, now int64) (uint64, bool) {
	r := request{deadline: deadline, target: target}
	if r.byCaller() {
		if p.unanswered(now) >= p.limit {
			return 0, false
		}
		p.counted++
	} else if len(p.waiting) >= p.limit {
		p.purge(now)
	}
	p.lastID++
	r.id = p.lastID
	p.waiting = append(p.waiting, r)
	return r.id, true
}

// take removes and gives the request that an answer belongs to; false when there is none, or it timed out.
func (p *pending) take(id uint64, now int64) (request, bool) {
	for i, r := range p.waiting {
		if r.id == id {
			p.remove(i)
			return r, now <= r.deadline
		}
	}
	return request{}, false
}

// takeAll empties the table: the connection has ended. What timed out is left out.
func (p *pending) takeAll(now int64) []request {
	p.purge(now)
	all := p.waiting
	p.waiting, p.counted = nil, 0
	return all
}

// unanswered is how many requests of callers still wait; it looks for timed out ones only where that matters.
func (p *pending) unanswered(now int64) int {
	if p.counted >= p.limit {
		p.purge(now)
	}
	return p.counted
}

// lastDeadline is when the last caller stops waiting; 0 when none does.
func (p *pending) lastDeadline() (last int64) {
	for _, r := range p.waiting {
		if r.byCaller() {
			last = max(last, r.deadline)
		}
	}
	return last
}

func (p *pending) purge(now int64) {
	for i := len(p.waiting) - 1; i >= 0; i-- {
		if now > p.waiting[i].deadline {
			p.remove(i)
		}
	}
}

func (p *pending) remove(i int) {
	if p.waiting[i].byCaller() {
		p.counted--
	}
	last := len(p.waiting) - 1
	p.waiting[i] = p.waiting[last]
	p.waiting[last] = request{}
	p.waiting = p.waiting[:last]
	if last == 0 && cap(p.waiting) > 4 {
		p.waiting = nil
	}
}
