package actors

import (
	"fmt"
	"slices"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// What the Edges of a run do, and what the model has to make of it.

// conn picks one of the connections whose far end is still there.
func (r *modelRun) conn(n int) *connRun {
	var there []*connRun
	for _, c := range r.conns {
		if !c.over || n%4 == 0 { // now and then one that serves no more speaks up
			there = append(there, c)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[n/4%len(there)]
}

// peer is a step of an Edge's own.
func (r *modelRun) peer(c *connRun, a act) {
	switch a.kind {
	case "close":
		r.note("%v is cut", c)
		c.conn.Close()
		r.m.cut(c.modelConn)
	case "bye":
		r.note("%v says goodbye", c)
		r.say(c, goodbyeEnvelope(), func() { r.m.leave(c.modelConn) })
	case "hush":
		r.note("%v sends no heartbeats any more", c)
		c.quiet = true
	case "stick":
		r.note("%v reads nothing any more", c)
		c.quiet, c.stuck = true, true
		_ = c.conn.SetReadDeadline(time.Now())
	case "push":
		edge, node := c.edge, r.node()
		if a.b%4 == 0 {
			edge = a.c % len(r.m.edges)
		}
		r.note("%v pushes a snapshot of %s with %s", c, edgeName(edge), node)
		if r.tell(c, statusOf(edgeName(edge), node)) && edge == c.edge {
			r.m.keep(c.modelConn, node)
		}
	case "answer":
		r.answer(c, a.b, a.c)
	case "node":
		node := r.node()
		r.note("%v tells that %s is ready", c, node)
		r.say(c, nodeReady(node), func() { r.m.happened(c.edge, NodeReady, node) })
	case "event":
		if o := r.known(a.b); o != nil {
			p := phases[iopv1.CommandPhase(1+a.c%len(phases))]
			r.note("%v tells of %v: %s", c, o, p.name)
			r.say(c, phaseOf(o.id, iopv1.CommandPhase(1+a.c%len(phases))), func() { r.m.phase(c.modelConn, o.modelCommand, p.state, p.name) })
		}
	case "late":
		if o := r.known(a.b); o != nil {
			outcome, state := outcomeNumber(a.c)
			r.note("%v sends an unasked outcome of %v, %s", c, o, state)
			r.say(c, outcomeOf(o.id, outcome), func() { r.m.say(c.modelConn, o.modelCommand, state, nil) })
		}
	}
}

// node names one that no other snapshot has.
func (r *modelRun) node() string {
	r.nodes++
	return fmt.Sprint("n", r.nodes)
}

func nodeReady(node string) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{
		NodeId: node, Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_READY}}}
}

// known picks a command that some Edge was sent, one of the last.
func (r *modelRun) known(n int) *commandRun {
	if len(r.commands) == 0 {
		return nil
	}
	if o := r.commands[len(r.commands)-1-n%min(len(r.commands), 8)]; r.written[o.id] {
		return o
	}
	return nil
}

func outcomeNumber(n int) (iopv1.CommandOutcome, OperationState) {
	list := []iopv1.CommandOutcome{iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED,
		iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED, iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED}
	return list[n%len(list)], outcomes[list[n%len(list)]]
}

// tell sends one frame; true when the Control Plane's end was there to read it, and acted on it.
func (r *modelRun) tell(c *connRun, m *iopv1.Envelope) bool {
	if !c.send(m) || c.over {
		return false
	}
	c.lastSeen = r.m.now
	return true
}

// say sends a frame that means something to the model, if it was acted on.
func (r *modelRun) say(c *connRun, m *iopv1.Envelope, meaning func()) {
	if r.tell(c, m) {
		meaning()
		r.m.endIfDrained(c.modelConn)
	}
}

// answer answers one of the questions that a connection was asked, and may be too late.
func (r *modelRun) answer(c *connRun, which, how int) {
	if len(c.asked) == 0 {
		return
	}
	i := which % len(c.asked)
	q := c.asked[i]
	if q.id == 0 {
		return // it waits to be written
	}
	c.asked = slices.Delete(c.asked, i, i+1)
	reply, words, heard := r.replyTo(c, q, how)
	reply.ReplyTo = q.id
	r.note("%v answers %s", c, words)
	r.say(c, reply, heard)
}

// replyTo makes an answer: the frame, the same in words, and what it means.
func (r *modelRun) replyTo(c *connRun, q question, how int) (reply *iopv1.Envelope, words string, heard func()) {
	outcome, state := outcomeNumber(how)
	fails := how%8 == 7
	switch {
	case q.status != nil && fails:
		return errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL), "a status: an error", func() { r.m.answerStatus(c.modelConn, q, "", faultEdgeError) }
	case q.status != nil && how%8 == 6:
		other := edgeName((c.edge + 1) % len(r.m.edges))
		return statusOf(other, r.node()), "a status: that of " + other, func() { r.m.answerStatus(c.modelConn, q, "", faultNonsense) }
	case q.status != nil:
		node := r.node()
		return statusOf(edgeName(c.edge), node), "a status: " + node, func() { r.m.answerStatus(c.modelConn, q, node, nil) }
	case q.op != nil && fails:
		return errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL), fmt.Sprintf("%v: an error", q.op), func() {
			if r.m.now <= q.deadline { // it doesn't say of which command
				r.m.say(c.modelConn, q.op, Failed, faultEdgeError)
			}
		}
	case q.op != nil:
		return outcomeOf(r.commandOf(q.op).id, outcome), fmt.Sprintf("%v: %s", q.op, state), func() { r.m.say(c.modelConn, q.op, state, nil) }
	}
	return r.replyToInquiry(c, q, how)
}

// replyToInquiry tells of a part of the commands in question, or says an error. What it tells of, outcomes come first.
func (r *modelRun) replyToInquiry(c *connRun, q question, how int) (reply *iopv1.Envelope, words string, heard func()) {
	outcome, state := outcomeNumber(how)
	response := &iopv1.EdgeCommandQueryResponse{}
	reply = &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: response}}
	told := q.past[:len(q.past)-how/16%len(q.past)]
	ran, gone := told, told[len(told):]
	if how%3 == 0 {
		ran, gone = told[:len(told)/2], told[len(told)/2:]
	}
	words = fmt.Sprintf("%v %s, %v never heard of", ran, state, gone)
	if how%8 == 7 {
		reply, words, told, ran, gone = errorOf(iopv1.ErrorCode_ERROR_CODE_INTERNAL), "an error", nil, nil, nil
	}
	for _, o := range ran {
		response.Responses = append(response.Responses, outcomeOf(r.commandOf(o).id, outcome).GetEdgeCommandResponse())
	}
	response.UnknownCommandIds = idsOf(gone, r.commandOf)
	return reply, fmt.Sprintf("what became of %v: %s", q.past, words), func() {
		m := &r.m
		if m.now > q.deadline {
			return
		}
		for _, o := range ran {
			m.say(c.modelConn, o, state, nil)
		}
		for _, o := range gone {
			m.forgotten(c.modelConn, o)
		}
		if slices.Equal(c.inquiry, q.past) {
			m.inquired(c.modelConn, q.past[len(told):])
		}
	}
}

func idsOf(commands []*modelCommand, of func(*modelCommand) *commandRun) (ids []string) {
	for _, o := range commands {
		ids = append(ids, of(o).id)
	}
	return ids
}

// match finds the question that a request is; false when nobody asks it, or asks it again.
func (c *connRun) match(m *iopv1.Envelope, of func(*modelCommand) *commandRun) bool {
	i := slices.IndexFunc(c.asked, func(q question) bool {
		switch {
		case q.id != 0:
			return false
		case q.status != nil:
			return m.GetEdgeStatusRequest() != nil
		case q.op != nil:
			return m.GetEdgeCommandRequest().GetCommandId() == of(q.op).id
		default:
			return slices.Equal(m.GetEdgeCommandQueryRequest().GetCommandIds(), idsOf(q.past, of))
		}
	})
	if i < 0 {
		return false
	}
	c.asked[i].id = m.Id
	return true
}
