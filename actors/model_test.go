package actors

import (
	"slices"
	"time"
)

// The model: what operators are promised of Edges and commands, without actors, queues or locks. One thing happens at a time.

type model struct {
	now    time.Duration
	edges  [3]modelEdge
	conns  []*modelConn
	ops    []*modelCommand
	status []*modelStatus
}

type modelEdge struct {
	owner                  *modelConn
	connections, takeovers int
	reason                 Reason
	takings                []time.Duration // from a live owner by another instance, within a minute
	conflictUntil          time.Duration
}

type modelConn struct {
	edge     int
	instance int
	over     bool // serves no more
	leaving  bool
	lastSeen time.Duration
	stuck    bool          // the peer reads nothing
	since    time.Duration // stuck, and a frame is being written: since when
	writing  bool
	asked    []question // what it was asked and hasn't answered, oldest first

	past     []*modelCommand // earlier commands that it is still to be asked about
	inquiry  *modelCommand   // the one that it is asked about, nil when none is
	inquired time.Duration
}

// question is one of a status, a command, and what became of an earlier command.
type question struct {
	id     uint64 // on the wire, once it came
	at     time.Duration
	status *modelStatus
	op     *modelCommand
	past   *modelCommand
}

type modelCommand struct {
	edge     int
	state    OperationState
	removed  bool // refused as if it had never been asked
	told     bool // its caller has it already
	conn     *modelConn
	deadline time.Duration
	late     bool // its first wait is over
}

type modelStatus struct {
	deadline time.Duration
	done     bool
}

// connect: the newest claim owns the id, whoever had it. Nil when two instances fight over it and this one isn't the owner.
func (m *model) connect(edge, instance int) *modelConn {
	c := &modelConn{edge: edge, instance: instance, lastSeen: m.now}
	e, old := &m.edges[edge], m.edges[edge].owner
	if old != nil && old.instance != instance {
		if m.now < e.conflictUntil {
			return nil
		}
		e.takings = slices.DeleteFunc(append(e.takings, m.now), func(at time.Duration) bool { return m.now-at > time.Minute })
		if len(e.takings) == 5 {
			e.takings, e.conflictUntil = nil, m.now+time.Minute
		}
	}
	e.owner, e.reason = c, ""
	e.connections++
	m.conns = append(m.conns, c)
	if old != nil {
		e.takeovers++
		m.over(old)
	}
	for _, o := range m.ops {
		if o.edge == edge && o.conn != nil && o.conn != c && !o.state.Terminal() {
			c.past = append(c.past, o)
		}
	}
	m.inquire(c)
	return c
}

// inquire asks about the next of the earlier commands: one is asked about when what became of the one before was said, or wasn't in
// time.
func (m *model) inquire(c *modelConn) {
	c.inquiry = nil
	for len(c.past) > 0 && c.inquiry == nil {
		if o := c.past[0]; !o.state.Terminal() {
			c.inquiry, c.inquired = o, m.now
			m.write(c)
			c.asked = append(c.asked, question{at: m.now, past: o})
		}
		c.past = c.past[1:]
	}
}

// end: a connection that owned nothing any more changes nothing.
func (m *model) end(c *modelConn, reason Reason) {
	if c.over {
		return
	}
	if c.leaving {
		reason = Goodbye
	}
	e := &m.edges[c.edge]
	e.owner, e.reason, e.conflictUntil = nil, reason, 0
	m.over(c)
}

// leave is a goodbye: what wasn't written is taken back.
func (m *model) leave(c *modelConn) {
	c.leaving = true
	for _, o := range m.ops {
		if o.state == Pending && !o.removed && m.edges[o.edge].owner == c {
			m.send(o)
		}
	}
}

// over: what was written and not answered is unknown, what wasn't is carried by the newer connection, if there is one.
func (m *model) over(c *modelConn) {
	c.over = true
	for _, s := range m.status {
		if slices.ContainsFunc(c.asked, func(q question) bool { return q.status == s }) {
			s.done = true
		}
	}
	for _, o := range m.ops {
		switch {
		case o.removed || o.state != Sent && o.state != Pending:
		case o.conn == c:
			o.state = Unknown
		case o.conn == nil && o.edge == c.edge:
			m.send(o)
		}
	}
}

// send gives a command to its Edge's owner. Where there is none it was never asked, unless its caller knows of it.
func (m *model) send(o *modelCommand) {
	c := m.edges[o.edge].owner
	switch {
	case c == nil || c.leaving:
		o.removed = !o.told
		o.state = Expired
	case m.write(c):
		o.state, o.conn = Sent, c
		c.asked = append(c.asked, question{at: m.now, op: o})
	default:
		o.state = Pending // behind others, and not written
	}
}

// write tells whether a frame is written now. A peer that doesn't read takes none, but the first one is begun.
func (m *model) write(c *modelConn) bool {
	if !c.stuck {
		return true
	}
	first := !c.writing
	if first {
		c.writing, c.since = true, m.now
	}
	return first
}

func (m *model) askStatus(edge int, timeout time.Duration) *modelStatus {
	s := &modelStatus{deadline: m.now + timeout}
	if c := m.edges[edge].owner; c != nil {
		m.write(c)
		c.asked = append(c.asked, question{at: m.now, status: s})
	} else {
		s.done = true
	}
	m.status = append(m.status, s)
	return s
}

func (m *model) command(edge int, wait bool, timeout time.Duration) *modelCommand {
	o := &modelCommand{edge: edge, state: Pending, deadline: m.now + timeout}
	m.ops = append(m.ops, o)
	m.send(o)
	o.told = !wait && !o.removed
	return o
}

// say is what a connection says of a command; only the owner of its Edge's id is heard.
func (m *model) say(c *modelConn, o *modelCommand, state OperationState) {
	if !c.over && c.edge == o.edge && !o.removed && o.conn != nil && !o.state.Terminal() {
		if !(state == Accepted && o.state == Running) {
			o.state = state
		}
	}
}

// due gives the next moment at which time alone changes something, and what.
func (m *model) due() (at time.Duration, change func()) {
	at = 1 << 62
	sooner := func(when time.Duration, what func()) {
		if when < at {
			at, change = when, what
		}
	}
	for _, s := range m.status {
		if !s.done {
			sooner(s.deadline, func() { s.done = true })
		}
	}
	for _, o := range m.ops {
		if !o.late && (o.state == Sent || o.state == Pending) {
			sooner(o.deadline, func() {
				o.late = true
				o.state = map[OperationState]OperationState{Sent: Unknown, Pending: Expired}[o.state]
			})
		}
	}
	for _, c := range m.conns {
		if !c.over && c.writing {
			sooner(c.since+modelWriteTimeout, func() { m.end(c, WriteTimeout) })
		}
		if !c.over && c.inquiry != nil {
			sooner(c.inquired+queryTime, func() { m.inquire(c) })
		}
		if !c.over {
			sooner(foundSilent(c.lastSeen), func() { m.end(c, HeartbeatTimeout) })
		}
	}
	return at, change
}

// advance lets time pass.
func (m *model) advance(d time.Duration) {
	until := m.now + d
	for {
		at, change := m.due()
		if at > until {
			m.now = until
			return
		}
		m.now = at
		change()
	}
}

const (
	modelHeartbeat    = 16 * time.Second
	modelWriteTimeout = 9900 * time.Millisecond // so that nothing else falls into the same instant
)

// foundSilent is when a sweep, one each eighth of the interval, finds that nothing was heard for 2.5 intervals.
func foundSilent(lastSeen time.Duration) time.Duration {
	const sweep = modelHeartbeat / 8
	return ((lastSeen+modelHeartbeat*5/2)/sweep + 1) * sweep
}
