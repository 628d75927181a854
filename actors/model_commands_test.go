package actors

import (
	"time"

	"iop/wire"
)

// What the model says of commands.

// send gives a command to its Edge's owner.
func (m *model) send(o *modelCommand) {
	c := m.edges[o.edge].owner
	if fault := m.reach(o.edge); fault != nil {
		m.refuse(o, fault)
	} else if c.leaving {
		m.refuse(o, faultLeaving)
	} else if m.write(c) {
		o.conn, o.sent = c, m.now
		c.asked = append(c.asked, question{deadline: o.deadline, op: o})
		m.becomes(o, Sent, "sent", nil)
	} else { // behind others, and not written
		m.answerCallers(o)
	}
}

// refuse: it was never asked, unless its caller knows of it.
func (m *model) refuse(o *modelCommand, fault *wire.Fault) {
	if o.told {
		m.becomes(o, Expired, "expired", fault)
		return
	}
	o.removed, o.state, o.fault = true, "", fault
	m.answerCallers(o)
}

func (m *model) command(edge int, wait bool, timeout time.Duration) *modelCommand {
	o := &modelCommand{modelRecord: modelRecord{Pending, never, never, never, ""}, number: len(m.ops), edge: edge, deadline: m.now + timeout,
		callers: []modelCaller{{wait: wait}}}
	m.ops = append(m.ops, o)
	m.send(o)
	return o
}

// again is a repeated key: nothing is asked a second time, and one waits only where the first one does.
func (m *model) again(o *modelCommand, wait bool) {
	o.callers = append(o.callers, modelCaller{wait: wait && o.callers[0].wait})
	m.answerCallers(o)
}

// answerCallers answers those whose wait is over.
func (m *model) answerCallers(o *modelCommand) {
	for i := range o.callers {
		c := &o.callers[i]
		switch waits := o.state == Sent || o.state == Pending; {
		case c.reply != "":
		case !waits:
			c.reply = commandInWords(o.state, o.fault, edgeErrorOf(o.fault))
		case !c.wait:
			o.told = true
			c.reply = commandInWords(o.state, nil, "")
		}
	}
}

// edgeErrorOf is the one code that Edges answer with.
func edgeErrorOf(fault *wire.Fault) string {
	if fault == faultEdgeError {
		return "INTERNAL"
	}
	return ""
}

// becomes: a command's state changes, and everybody is told, readers of events of the phase.
func (m *model) becomes(o *modelCommand, state OperationState, phase string, fault *wire.Fault) {
	o.state, o.fault = state, fault
	if state.Terminal() {
		o.finished = m.now
	}
	m.happened(o.edge, Kind("command_"+phase), o.String())
	m.answerCallers(o)
}

func (m *model) unknown(o *modelCommand, fault *wire.Fault) {
	m.note(o, "unknown")
	m.becomes(o, Unknown, "unknown", fault)
}

// heard tells whether what a connection says of a command counts: only its Edge's owner is heard, and nothing changes what has ended.
func (m *model) heard(c *modelConn, o *modelCommand) bool {
	return !c.over && c.edge == o.edge && o.conn != nil && !o.state.Terminal()
}

// say is an answer, asked for or not.
func (m *model) say(c *modelConn, o *modelCommand, state OperationState, fault *wire.Fault) {
	if !m.heard(c, o) {
		return
	}
	if o.responded == never {
		o.responded = m.now
	}
	if state == Accepted && (o.state == Accepted || o.state == Running) {
		return // no news
	}
	if o.state == Unknown {
		m.note(o, string(state))
	}
	m.becomes(o, state, string(state), fault)
}

// phase is an event of a command.
func (m *model) phase(c *modelConn, o *modelCommand, state OperationState, phase string) {
	if m.heard(c, o) {
		m.note(o, phase)
		m.becomes(o, state, phase, nil)
	}
}

// forgotten: a returned Edge doesn't know it.
func (m *model) forgotten(c *modelConn, o *modelCommand) {
	if !m.heard(c, o) || o.state == Sent || o.unheard {
		return
	}
	if o.state == Unknown {
		m.note(o, "unknown")
	} else {
		m.unknown(o, o.fault)
	}
	o.unheard = true
}

func (m *model) note(o *modelCommand, phase string) {
	o.notes += noteInWords(phase, m.now)
	o.unheard = false
}
