package nodes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"iop/edge"
)

// The model keeps nothing but the history of steps and answers every question by looking through it.
type model struct {
	history []told
}

// told is one step that was taken.
type told struct {
	do       string // claim, answered, ready, update, close, restart
	node     string
	token    claimToken
	granted  bool
	capacity uint32
}

// owner is the newest granted claim of a node, unless it was closed or the process restarted.
func (m *model) owner(node string) (token claimToken, since int) {
	for i, s := range slices.Backward(m.history) {
		switch {
		case s.do == "restart":
			return 0, 0
		case s.do == "claim" && s.node == node && s.granted:
			if m.said(i, "close", node, s.token) {
				return 0, 0
			}
			return s.token, i
		}
	}
	return 0, 0
}

// said tells whether a step by a token on its node came after a moment.
func (m *model) said(after int, do, node string, token claimToken) bool {
	return slices.ContainsFunc(m.history[after:], func(s told) bool { return s.do == do && s.node == node && s.token == token })
}

// progress is how far a node's owner is: the steps that it took in their order.
func (m *model) progress(node string) (token claimToken, answered, ready bool) {
	token, since := m.owner(node)
	if token == 0 {
		return 0, false, false
	}
	for _, s := range m.history[since:] {
		if s.node == node && s.token == token {
			answered = answered || s.do == "answered"
			ready = ready || answered && s.do == "ready"
		}
	}
	return token, answered, ready
}

// step is what a step must come to, before it is taken into the history.
func (m *model) step(s told) string {
	owner, answered, ready := m.progress(s.node)
	switch {
	case s.do == "restart":
		return ""
	case s.do == "claim":
		return map[bool]string{true: "token", false: "refused"}[s.granted]
	case owner == 0 || owner != s.token:
		return "stale"
	case s.do == "close":
		return map[bool]string{true: "lost", false: "changed"}[m.lastEventWasReady(s.node)]
	case s.do == "answered" && !answered:
		return ""
	case s.do == "ready" && answered && !ready:
		return "ready"
	case s.do == "update" && ready:
		return "changed"
	}
	return "turn"
}

// lastEventWasReady replays the node's life since the last restart: an owner's first ready in its turn is an event, an owner's
// close ends it.
func (m *model) lastEventWasReady(node string) (up bool) {
	var owner claimToken
	answered := false
	for _, s := range m.history {
		switch {
		case s.do == "restart":
			owner, up = 0, false
		case s.node != node:
		case s.do == "claim" && s.granted:
			owner, answered = s.token, false
		case s.token != owner || owner == 0:
		case s.do == "answered":
			answered = true
		case s.do == "ready" && answered:
			up = true
		case s.do == "close":
			owner, up = 0, false
		}
	}
	return up
}

// capacity is what a node shows: the last that its ready owner said in its turn, 0 without one.
func (m *model) capacity(node string) uint32 {
	token, since := m.owner(node)
	_, _, isReady := m.progress(node)
	if !isReady {
		return 0
	}
	capacity, answered, ready := uint32(0), false, false
	for _, s := range m.history[since:] {
		if s.node != node || s.token != token {
			continue
		}
		switch {
		case s.do == "answered":
			answered = true
		case s.do == "ready" && answered && !ready:
			ready, capacity = true, s.capacity
		case s.do == "update" && ready:
			capacity = s.capacity
		}
	}
	return capacity
}

var modelNodes = []string{"a", "b", "c"}

// TestModel makes 1,000 runs of 200 steps in any order: connects (of known nodes and of strangers), ready, update, close of
// owners, of those that lost their place, and of refused ones, and restarts. The table and the model never differ, neither in
// what comes of a step nor in what the nodes look like.
func TestModel(t *testing.T) {
	for seed := range uint64(1000) {
		if err := runModel(seed, 200); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func runModel(seed uint64, steps int) error {
	random := rand.New(rand.NewPCG(seed, 1))
	var declared []Node
	for _, id := range modelNodes {
		declared = append(declared, Node{ID: id})
	}
	table, m := newTable(declared), &model{}
	type connection struct {
		node  string
		token claimToken
	}
	connections := []connection{{"a", 0}} // 0: a connection that never claimed
	ever := map[string]bool{}
	for i := range steps {
		s := told{capacity: 1 + random.Uint32N(100)}
		got := ""
		switch n := random.IntN(100); {
		case n < 22:
			s.do, s.node = "claim", append(modelNodes, "stranger")[random.IntN(4)]
			s.token, s.granted = table.claim(s.node, identity{})
			if s.granted != (s.node != "stranger") {
				return fmt.Errorf("step %d: claim of %q is granted %v", i, s.node, s.granted)
			}
			for _, c := range connections {
				if c.token >= s.token {
					return fmt.Errorf("step %d: token %d after %d", i, s.token, c.token)
				}
			}
			connections = append(connections, connection{s.node, s.token})
			got = map[bool]string{true: "token", false: "refused"}[s.granted]
		case n < 23:
			s.do = "restart"
			table.restart()
		default:
			c := connections[max(0, len(connections)-1-random.IntN(6))]
			if random.IntN(4) == 0 {
				c = connections[random.IntN(len(connections))]
			}
			s.node, s.token = c.node, c.token
			if random.IntN(20) == 0 { // a number is good for its own node alone
				s.node = modelNodes[random.IntN(3)]
			}
			s.do = []string{"answered", "answered", "ready", "ready", "update", "close"}[random.IntN(6)]
			got = outcomeName(apply(table, s))
		}
		if want := m.step(s); got != want {
			return fmt.Errorf("step %d, %+v: came to %q, want %q", i, s, got, want)
		}
		if got == "ready" {
			ever[s.node] = true
		}
		m.history = append(m.history, s)
		if err := m.compare(table.nodes(), ever); err != nil {
			return fmt.Errorf("step %d, after %+v: %w", i, s, err)
		}
	}
	return nil
}

func apply(table *table, s told) outcome {
	providers := []edge.Provider{{
		ID: "p", Type: "vllm", Models: []string{"m"}, Status: edge.Available, Health: edge.Online,
		General: edge.Counters{Capacity: s.capacity, InFlight: 1, Queued: 2}, LongContext: edge.Counters{Capacity: s.capacity, InFlight: 3},
	}}
	switch s.do {
	case "answered":
		return table.answered(s.node, s.token)
	case "ready":
		return table.ready(s.node, s.token, providers)
	case "update":
		return table.update(s.node, s.token, providers)
	}
	return table.close(s.node, s.token)
}

// compare holds the statement to the model. ever has the nodes that were ready once: their provider is known for good.
func (m *model) compare(nodes []edge.Node, ever map[string]bool) error {
	if len(nodes) != len(modelNodes) {
		return fmt.Errorf("%d nodes", len(nodes))
	}
	for i, n := range nodes {
		_, _, ready := m.progress(n.ID)
		if n.ID != modelNodes[i] || n.Connected != ready || !n.Announced {
			return fmt.Errorf("node %q is connected %v, want %v", n.ID, n.Connected, ready)
		}
		if !ever[n.ID] {
			if len(n.Providers) != 0 {
				return fmt.Errorf("node %q has a provider that nobody told of", n.ID)
			}
			continue
		}
		if len(n.Providers) != 1 {
			return fmt.Errorf("node %q has %d providers", n.ID, len(n.Providers))
		}
		p := n.Providers[0]
		if p.ID != "p" || p.Type != "vllm" || !slices.Equal(p.Models, []string{"m"}) {
			return fmt.Errorf("node %q doesn't know its provider any more: %+v", n.ID, p)
		}
		c := m.capacity(n.ID)
		want := edge.Provider{Status: edge.Unavailable, Health: edge.Offline}
		if ready {
			want = edge.Provider{Status: edge.Available, Health: edge.Online,
				General: edge.Counters{Capacity: c, InFlight: 1, Queued: 2}, LongContext: edge.Counters{Capacity: c, InFlight: 3}}
		}
		if p.Status != want.Status || p.Health != want.Health || p.General != want.General || p.LongContext != want.LongContext {
			return fmt.Errorf("the provider of %q is %+v, want %+v", n.ID, p, want)
		}
	}
	return nil
}
