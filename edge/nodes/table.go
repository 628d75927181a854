package nodes

import (
	"iop/edge"
)

// claimToken is the number of a claim; it only grows, and 0 is nobody's.
type claimToken uint64

// state is how far the owner of a node is.
type state int

const (
	nobody   state = iota // no owner
	accepted              // it owns the node, and isn't told so yet
	pending               // it was told, and looks at its providers
	ready                 // it serves
)

// event is what a step means to the outside.
type event int

const (
	noEvent event = iota
	// nodeReady: the owner became ready.
	nodeReady
	// nodeLost: the owner is gone, and the last event told that the node was ready.
	nodeLost
)

// outcome is what became of a step.
type outcome struct {
	// stale: the connection doesn't own the node, and nothing has changed.
	stale bool
	// outOfTurn: it owns the node, but may not say this in its state. Nothing has changed.
	outOfTurn bool
	event     event
	// changed: the node may look different.
	changed bool
}

// table decides who owns which node, and what the Edge says of it. It knows no clock and no socket; its owner guards
// it.
type table struct {
	last   claimToken
	places map[string]*place
	order  []*place // as declared
}

// place is one declared node and its owner.
type place struct {
	view
	owner claimToken
	state state
	told  bool // nodeReady was the last event
}

// newTable makes a table of declared nodes, no two of which have one id.
func newTable(declared []Node) *table {
	t := &table{places: make(map[string]*place, len(declared))}
	for _, n := range declared {
		p := &place{view: view{declared: n}}
		t.places[n.ID] = p
		t.order = append(t.order, p)
	}
	return t
}

// claim makes a connection the owner of a node; granted is false when there is no such node. A refused claim gets a
// token, too: what its connection does later is compared like anything else, and owns nothing.
func (t *table) claim(nodeID string, as identity) (token claimToken, granted bool) {
	t.last++
	p := t.places[nodeID]
	if p == nil {
		return t.last, false
	}
	p.owner, p.state, p.identity = t.last, accepted, as
	return t.last, true
}

// answered notes that the owner was told that it owns the node.
func (t *table) answered(nodeID string, token claimToken) outcome {
	return t.step(nodeID, token, accepted, func(p *place) outcome {
		p.state = pending
		return outcome{}
	})
}

// ready makes the node connected.
func (t *table) ready(nodeID string, token claimToken, providers []edge.Provider) outcome {
	return t.step(nodeID, token, pending, func(p *place) outcome {
		p.state, p.told, p.providers = ready, true, providers
		return outcome{event: nodeReady, changed: true}
	})
}

// update replaces the providers of a ready node.
func (t *table) update(nodeID string, token claimToken, providers []edge.Provider) outcome {
	return t.step(nodeID, token, ready, func(p *place) outcome {
		p.providers = providers
		return outcome{changed: true}
	})
}

// close ends a connection, whoever ended it and in whatever state it was. It may be told more than once.
func (t *table) close(nodeID string, token claimToken) outcome {
	p := t.owned(nodeID, token)
	if p == nil {
		return outcome{stale: true}
	}
	o := outcome{changed: true}
	if p.told { // also when it was told by an owner before, whose place this one had taken
		o.event = nodeLost
	}
	p.owner, p.state, p.told = 0, nobody, false
	return o
}

// restart forgets all owners without a word, as a new process would; what was told of the nodes is kept, and
// tokens grow on.
func (t *table) restart() {
	for _, p := range t.order {
		p.owner, p.state, p.told = 0, nobody, false
	}
}

// nodes is the statement, in the order in which nodes were declared.
func (t *table) nodes() []edge.Node {
	nodes := make([]edge.Node, len(t.order))
	for i, p := range t.order {
		nodes[i] = p.node(p.state == ready)
	}
	return nodes
}

// owned is the place that a token owns, or nil.
func (t *table) owned(nodeID string, token claimToken) *place {
	p := t.places[nodeID]
	if p == nil || token == 0 || p.owner != token {
		return nil
	}
	return p
}

// step lets an owner take a step that is for one state alone.
func (t *table) step(nodeID string, token claimToken, from state, do func(*place) outcome) outcome {
	p := t.owned(nodeID, token)
	switch {
	case p == nil:
		return outcome{stale: true}
	case p.state != from:
		return outcome{outOfTurn: true}
	}
	return do(p)
}
