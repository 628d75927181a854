package nodes

import (
	"iop/edge"
)

// Token is the number of a claim; it only grows, and 0 is nobody's.
type Token uint64

// state is how far the owner of a node is.
type state int

const (
	nobody   state = iota // no owner
	accepted              // it owns the node, and isn't told so yet
	pending               // it was told, and looks at its providers
	ready                 // it serves
)

// Event is what a step means to the outside.
type Event int

const (
	NoEvent Event = iota
	// NodeReady: the owner became ready.
	NodeReady
	// NodeLost: the owner is gone, and the last event told that the node was ready.
	NodeLost
)

// Outcome is what became of a step.
type Outcome struct {
	// Stale: the connection doesn't own the node, and nothing has changed.
	Stale bool
	// OutOfTurn: it owns the node, but may not say this in its state. Nothing has changed.
	OutOfTurn bool
	Event     Event
	// Changed: the node may look different.
	Changed bool
}

// Table decides who owns which node, and what the Edge says of it. It knows no clock and no socket; its owner guards
// it.
type Table struct {
	last   Token
	places map[string]*place
	order  []*place // as declared
}

// place is one declared node and its owner.
type place struct {
	view
	owner Token
	state state
	told  bool // NodeReady was the last event
}

// NewTable makes a Table of declared nodes, no two of which have one id.
func NewTable(declared []Node) *Table {
	t := &Table{places: make(map[string]*place, len(declared))}
	for _, n := range declared {
		p := &place{view: view{declared: n}}
		t.places[n.ID] = p
		t.order = append(t.order, p)
	}
	return t
}

// Claim makes a connection the owner of a node; granted is false when there is no such node. A refused claim gets a
// token, too: what its connection does later is compared like anything else, and owns nothing.
func (t *Table) Claim(nodeID string, as Identity) (token Token, granted bool) {
	t.last++
	p := t.places[nodeID]
	if p == nil {
		return t.last, false
	}
	p.owner, p.state, p.identity = t.last, accepted, as
	return t.last, true
}

// Answered notes that the owner was told that it owns the node.
func (t *Table) Answered(nodeID string, token Token) Outcome {
	return t.step(nodeID, token, accepted, func(p *place) Outcome {
		p.state = pending
		return Outcome{}
	})
}

// Ready makes the node connected.
func (t *Table) Ready(nodeID string, token Token, providers []edge.Provider) Outcome {
	return t.step(nodeID, token, pending, func(p *place) Outcome {
		p.state, p.told, p.providers = ready, true, providers
		return Outcome{Event: NodeReady, Changed: true}
	})
}

// Update replaces the providers of a ready node.
func (t *Table) Update(nodeID string, token Token, providers []edge.Provider) Outcome {
	return t.step(nodeID, token, ready, func(p *place) Outcome {
		p.providers = providers
		return Outcome{Changed: true}
	})
}

// Close ends a connection, whoever ended it and in whatever state it was. It may be told more than once.
func (t *Table) Close(nodeID string, token Token) Outcome {
	p := t.owned(nodeID, token)
	if p == nil {
		return Outcome{Stale: true}
	}
	o := Outcome{Changed: true}
	if p.told { // also when it was told by an owner before, whose place this one had taken
		o.Event = NodeLost
	}
	p.owner, p.state, p.told = 0, nobody, false
	return o
}

// Restart forgets all owners without a word, as a new process would; what was told of the nodes is kept, and
// tokens grow on.
func (t *Table) Restart() {
	for _, p := range t.order {
		p.owner, p.state, p.told = 0, nobody, false
	}
}

// Nodes is the statement, in the order in which nodes were declared.
func (t *Table) Nodes() []edge.Node {
	nodes := make([]edge.Node, len(t.order))
	for i, p := range t.order {
		nodes[i] = p.node(p.state == ready)
	}
	return nodes
}

// owned is the place that a token owns, or nil.
func (t *Table) owned(nodeID string, token Token) *place {
	p := t.places[nodeID]
	if p == nil || token == 0 || p.owner != token {
		return nil
	}
	return p
}

// step lets an owner take a step that is for one state alone.
func (t *Table) step(nodeID string, token Token, from state, do func(*place) Outcome) Outcome {
	p := t.owned(nodeID, token)
	switch {
	case p == nil:
		return Outcome{Stale: true}
	case p.state != from:
		return Outcome{OutOfTurn: true}
	}
	return do(p)
}
