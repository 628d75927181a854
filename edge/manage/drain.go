package manage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"iop/edge"
)

const (
	drainLook = 100 * time.Millisecond
	// heardAfter is how long whoever sends requests may take to hear of a drain. What a backend was asked before says nothing
	// of what runs after.
	heardAfter  = time.Second
	drainWord   = 5 * time.Second // between two reports of a number that stays the same
	namedLeases = 10              // in a sentence
)

// DrainDeadline is the parameter deadline_seconds of node.drain.
func DrainDeadline(c *edge.Command) (time.Duration, error) {
	return seconds(c, "deadline_seconds", 5*time.Minute, 24*time.Hour)
}

// drain is the operation node.drain. The node stays drained however it ends, until node.resume.
func (s *Site) drain(ctx context.Context, c *edge.Command) (map[string]any, error) {
	if err := OnlyParameters(c, "deadline_seconds"); err != nil {
		return nil, err
	}
	deadline, err := DrainDeadline(c)
	if err != nil {
		return nil, err
	}
	drain := s.pool.Drain(c.NodeID)
	if drain == 0 {
		return nil, unknownNode(c.NodeID)
	}
	began := time.Now()
	left, err := s.waitEmpty(ctx, c, drain, deadline)
	result := map[string]any{"node_id": c.NodeID, "in_flight": left.requests, "waited_seconds": time.Since(began).Seconds()}
	if unknown := left.unknown(); len(unknown) > 0 {
		result["in_flight"], result["unknown"] = nil, unknown
	}
	if left.requests > 0 {
		result["running"] = s.runningAt(c.NodeID)
	}
	return result, err
}

// waitEmpty waits until nothing runs at a node that is in a drain, and gives what does still.
func (s *Site) waitEmpty(ctx context.Context, c *edge.Command, drain uint64, deadline time.Duration) (left work, err error) {
	since := time.Now().Add(heardAfter)
	over := time.NewTimer(deadline)
	defer over.Stop()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	var most, said uint64
	var saidAt time.Time
	for late := false; ; {
		var declared bool
		left, declared = s.workAt(c.NodeID, since)
		switch {
		case !declared, s.pool.DrainOf(c.NodeID) != drain: // after the look: what it saw was drained
			return left, edge.Failed("The node was resumed, or declared anew, before it was empty.")
		case left.none():
			return left, nil
		case late, left.hopeless():
			return left, edge.Failed(s.whatIsLeft(c.NodeID, left, deadline))
		}
		most = max(most, left.requests)
		if left.requests != said || time.Since(saidAt) >= drainWord {
			c.Progress(int(100*(most-left.requests)/max(most, 1)), left.word())
			said, saidAt = left.requests, time.Now()
		}
		select {
		case <-look.C:
		case <-over.C:
			late = true
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}

// whatIsLeft says why a drain has come to no end.
func (s *Site) whatIsLeft(nodeID string, left work, after time.Duration) string {
	var sentences []string
	if left.requests > 0 {
		sentences = append(sentences, fmt.Sprintf("%s after %v%s", strings.TrimSuffix(stillRun(left.requests), "."), after, s.names(nodeID)))
	}
	if len(left.untold) > 0 {
		sentences = append(sentences, fmt.Sprintf("What runs at %s isn't known, since it tells no load.", strings.Join(left.untold, ", ")))
	}
	if len(left.unheard) > 0 {
		sentences = append(sentences, fmt.Sprintf("What runs at %s isn't known, since it has told no load after the drain.", strings.Join(left.unheard, ", ")))
	}
	return strings.Join(sentences, " ")
}

func stillRun(n uint64) string {
	if n == 1 {
		return "1 request still runs."
	}
	return fmt.Sprintf("%d requests still run.", n)
}

// names says what runs at a node, as the end of a sentence.
func (s *Site) names(nodeID string) string {
	var parts []string
	more := 0
	for _, l := range s.pool.Live() {
		switch {
		case l.Node != nodeID:
		case len(parts) == namedLeases:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s (%.60s at %s, %v)", l.ID, l.Model, l.Provider, time.Since(l.Since).Round(time.Second)))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more leases", more))
	}
	for _, at := range s.gauges(nodeID) {
		parts = append(parts, fmt.Sprintf("%v at %v", at["in_flight"], at["provider_id"]))
	}
	return ": " + strings.Join(parts, ", ") + "."
}

// runningAt is what runs at a node: its leases, and what its backends say where no leases are taken.
func (s *Site) runningAt(nodeID string) []any {
	running := []any{}
	for _, l := range s.pool.Live() {
		if l.Node == nodeID && len(running) < listedLeases {
			running = append(running, leaseView(l))
		}
	}
	for _, at := range s.gauges(nodeID) {
		running = append(running, at)
	}
	return running
}

// gauges is what runs at the providers whose requests don't go through the Edge.
func (s *Site) gauges(nodeID string) []map[string]any {
	var at []map[string]any
	for _, n := range s.Nodes() {
		for _, p := range n.Providers {
			if running := requestsAt(p); n.ID == nodeID && running > 0 && !s.leased(n.ID, p.ID) {
				at = append(at, map[string]any{"provider_id": p.ID, "in_flight": running})
			}
		}
	}
	return at
}
