package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"iop/edge"
	"iop/wire"
)

// Options make a Site.
type Options struct {
	// Listener is where agents connect; the Site closes it when Run ends.
	Listener net.Listener
	// Nodes are those that agents may report; all others are refused.
	Nodes []Node
	// EdgeID and Version are told to agents.
	EdgeID  string
	Version string
	// HeartbeatInterval is how often an agent sends a sign of life; after 2.5 intervals without one its connection
	// ends. 0: 5 s.
	HeartbeatInterval time.Duration
	// Logger; nil: slog's default.
	Logger *slog.Logger
}

// Site is an edge.Site whose nodes have agents that connect to it.
type Site struct {
	opts     Options
	log      *slog.Logger
	declared map[string]*Node

	mu       sync.Mutex
	table    *table
	owners   map[string]*connection // of each node that has one
	all      map[*connection]bool   // those that are not closed yet
	nodes    []edge.Node            // replaced, never changed in place
	changed  func()
	tell     func(edge.Announcement)
	stopping bool // the Edge is: what still happens to nodes isn't their doing
}

// New makes a Site that doesn't serve yet. Its error names everything that is wrong.
func New(o Options) (*Site, error) {
	if o.HeartbeatInterval <= 0 {
		o.HeartbeatInterval = wire.DefaultNodeHeartbeat
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Site{
		opts: o, log: o.Logger, declared: map[string]*Node{}, owners: map[string]*connection{}, all: map[*connection]bool{},
		changed: func() {}, tell: func(edge.Announcement) {},
	}
	var wrong []error
	for i := range o.Nodes {
		n := &o.Nodes[i]
		if !wire.ValidEdgeID(n.ID) || s.declared[n.ID] != nil {
			wrong = append(wrong, fmt.Errorf("nodes: node %d: its id %q is off the rule or another's", i, n.ID))
		}
		s.declared[n.ID] = n
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	s.table = newTable(o.Nodes)
	s.nodes = s.table.nodes()
	return s, nil
}

// Nodes implements edge.Site.
func (s *Site) Nodes() []edge.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

// Announce implements edge.Announcer.
func (s *Site) Announce(tell func(edge.Announcement)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell = tell
}

// Run implements edge.Site. Nodes without an owner are reported as not connected from the start.
func (s *Site) Run(ctx context.Context, changed func()) {
	s.mu.Lock()
	s.changed = changed
	s.table.restart()
	s.nodes = s.table.nodes()
	s.mu.Unlock()
	changed()
	s.serve(ctx)
}

// step makes a step in the table and tells what comes of it. Events are told under the lock, so that they come in the
// order of the steps.
func (s *Site) step(nodeID string, do func(*table) outcome) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return outcome{stale: true}
	}
	o := do(s.table)
	if o.changed {
		s.nodes = s.table.nodes()
		s.changed()
	}
	if o.event != noEvent {
		s.tell(edge.Announcement{NodeID: nodeID, Ready: o.event == nodeReady})
	}
	return o
}

// claim makes a connection the owner of its node. before is the connection whose place it took, or nil.
func (s *Site) claim(c *connection, as identity) (before *connection, granted bool) {
	s.step(c.nodeID, func(t *table) outcome {
		c.token, granted = t.claim(c.nodeID, as)
		if !granted {
			return outcome{}
		}
		before = s.owners[c.nodeID]
		s.owners[c.nodeID] = c
		return outcome{changed: true}
	})
	return before, granted
}

// release is a connection's end.
func (s *Site) release(c *connection) outcome {
	return s.step(c.nodeID, func(t *table) outcome {
		if s.owners[c.nodeID] == c {
			delete(s.owners, c.nodeID)
		}
		return t.close(c.nodeID, c.token)
	})
}
