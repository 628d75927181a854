package actors

import (
	"slices"
	"time"

	"iop/wire"
)

// What the model says of Edges, their connections and their snapshots.

// connect: the newest claim owns the id, whoever had it. Nil when two instances fight over it and this one isn't the owner, when
// it dialled too long ago, and when the process ends.
func (m *model) connect(edge, instance int, dialled time.Duration) *modelConn {
	if m.draining || m.now-dialled >= modelHelloTimeout {
		return nil
	}
	c := &modelConn{edge: edge, instance: instance, lastSeen: m.now, drained: never}
	e, old := &m.edges[edge], m.edges[edge].owner
	conflict := false
	if old != nil && old.instance != instance {
		if m.now < e.conflictUntil {
			return nil
		}
		e.takings = slices.DeleteFunc(append(e.takings, m.now), func(at time.Duration) bool { return m.now-at > time.Minute })
		conflict = len(e.takings) == 5
	}
	e.owner, e.since, e.reason = c, m.now, ""
	e.connections++
	m.conns = append(m.conns, c)
	if old == nil {
		m.happened(edge, EdgeConnected, "")
	} else {
		e.takeovers++
		m.happened(edge, EdgeSuperseded, "")
	}
	if conflict {
		e.takings, e.conflictUntil = nil, m.now+time.Minute
		m.happened(edge, EdgeConflict, "")
	}
	if old != nil {
		m.over(old, faultSuperseded)
	}
	for _, o := range m.ops {
		if o.edge == edge && o.conn != nil && o.conn != c && !o.state.Terminal() {
			c.past = append(c.past, o)
		}
	}
	m.inquire(c)
	return c
}

// inquire asks about the earlier commands, all at once or the next one.
func (m *model) inquire(c *modelConn) {
	c.inquiry = nil
	for len(c.past) > 0 && (c.inquiry == nil || !m.edges[c.edge].oneByOne) {
		if o := c.past[0]; !o.state.Terminal() {
			c.inquiry = append(c.inquiry, o)
		}
		c.past = c.past[1:]
	}
	if c.inquiry != nil {
		c.inquiredAt = m.now
		m.write(c)
		c.asked = append(c.asked, question{deadline: m.now + queryTime, past: c.inquiry})
	}
}

// inquired: a question has been answered, or its time is up. What one about several has left open is asked about one by one.
func (m *model) inquired(c *modelConn, left []*modelCommand) {
	if len(c.inquiry) > 1 && len(left) > 0 {
		m.edges[c.edge].oneByOne = true
		c.past = append(slices.Clone(left), c.past...)
	}
	m.inquire(c)
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
	e.owner, e.since, e.reason, e.conflictUntil = nil, m.now, reason, 0
	m.happened(c.edge, EdgeDisconnected, string(reason))
	m.over(c, faultLost)
}

// cut: its peer has closed it.
func (m *model) cut(c *modelConn) {
	if m.draining {
		m.end(c, Shutdown)
	} else {
		m.end(c, ConnectionClosed)
	}
}

// leave is a goodbye: what wasn't written is taken back.
func (m *model) leave(c *modelConn) {
	c.leaving = true
	for _, o := range m.ops {
		if o.state == Pending && m.edges[o.edge].owner == c {
			m.send(o)
		}
	}
}

// over: what was written and not answered is unknown, what wasn't is carried by the newer connection, if there is one.
func (m *model) over(c *modelConn, fault *wire.Fault) {
	c.over = true
	if len(c.inquiry) > 1 {
		m.edges[c.edge].oneByOne = true
	}
	for _, q := range c.asked {
		if q.status != nil {
			m.failStatus(q.status, fault)
		}
	}
	for _, o := range m.ops {
		switch {
		case o.state == Sent && o.conn == c:
			m.unknown(o, faultLost)
		case o.state == Pending && o.edge == c.edge:
			m.send(o)
		}
	}
}

// drain lets each connection answer what it was asked for others, and ends it then.
func (m *model) drain(most time.Duration) {
	m.draining, m.stopAt = true, m.now+most
	for _, c := range m.conns {
		if !c.over {
			m.write(c) // that it is to go
			for _, deadline := range m.waitedFor(c) {
				c.drained = max(c.drained, deadline+time.Millisecond)
			}
			m.endIfDrained(c)
		}
	}
}

// endIfDrained looks whether a connection that drains is waited for; it does with all that a peer says but heartbeats and snapshots
// that it pushes.
func (m *model) endIfDrained(c *modelConn) {
	if m.draining && len(m.waitedFor(c)) == 0 {
		m.end(c, Shutdown)
	}
}

// waitedFor gives the deadlines of what a connection is asked for others, written or not.
func (m *model) waitedFor(c *modelConn) (deadlines []time.Duration) {
	for _, q := range c.asked {
		if q.past == nil && m.now <= q.deadline {
			deadlines = append(deadlines, q.deadline)
		}
	}
	for _, o := range m.ops {
		if o.state == Pending && m.edges[o.edge].owner == c {
			deadlines = append(deadlines, o.deadline)
		}
	}
	return deadlines
}

// stop: nobody waits for Edges any longer. What may have run is unknown, what was never written never will be, and what an Edge
// has accepted is still the Edge's.
func (m *model) stop() {
	m.stopAt = never
	for _, s := range m.status {
		m.failStatus(s, faultShuttingDown)
	}
	for _, o := range m.ops {
		switch o.state {
		case Sent:
			m.unknown(o, faultShuttingDown)
		case Pending:
			m.send(o)
		}
	}
}

// reach tells why an Edge can't be asked.
func (m *model) reach(edge int) *wire.Fault {
	switch e := &m.edges[edge]; {
	case m.draining:
		return faultShuttingDown
	case e.connections == 0:
		return faultEdgeNotFound
	case e.owner == nil:
		return faultDisconnected
	}
	return nil
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
	s := &modelStatus{edge: edge, deadline: m.now + timeout}
	m.status = append(m.status, s)
	if fault := m.reach(edge); fault != nil {
		m.failStatus(s, fault)
		return s
	}
	c := m.edges[edge].owner
	m.write(c)
	c.asked = append(c.asked, question{deadline: s.deadline, status: s})
	return s
}

// failStatus answers who still waits, and who is told that the Edge is disconnected what is known of it.
func (m *model) failStatus(s *modelStatus, fault *wire.Fault) {
	if s.reply == "" {
		more := edgeErrorOf(fault)
		if fault.Code == wire.EdgeDisconnected {
			more = viewInWords(edgeName(s.edge), m.edges[s.edge].owner != nil)
		}
		s.reply = faultInWords(fault, more)
	}
}

// answerStatus: an answer that comes in time is the newest snapshot, or none.
func (m *model) answerStatus(c *modelConn, q question, node string, fault *wire.Fault) {
	switch {
	case m.now > q.deadline:
	case fault != nil:
		m.failStatus(q.status, fault)
	default:
		m.keep(c, node)
		if q.status.reply == "" {
			q.status.reply = snapshotInWords(edgeName(c.edge), node)
		}
	}
}

func (m *model) keep(c *modelConn, node string) { m.edges[c.edge].snapshot = node }

func (m *model) happened(edge int, kind Kind, about string) {
	e := &m.edges[edge]
	e.events = append(e.events, modelEvent{m.now, kind, about})
}
