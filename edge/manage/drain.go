package manage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"iop/edge"
)

const (
	drainDeadline    = 5 * time.Minute // when none is given
	maxDrainDeadline = 24 * time.Hour
	drainLook        = 100 * time.Millisecond
	drainWord        = 5 * time.Second // between two reports of a number that stays the same
	namedLeases      = 10              // in a sentence
)

// drain is the operation node.drain. The node stays drained however it ends, until node.resume.
func (s *Site) drain(ctx context.Context, c *edge.Command) (map[string]any, error) {
	if err := onlyParameters(c, "deadline_seconds"); err != nil {
		return nil, err
	}
	deadline, err := seconds(c, "deadline_seconds", drainDeadline, maxDrainDeadline)
	if err != nil {
		return nil, err
	}
	if !s.pool.Drain(c.NodeID) {
		return nil, unknownNode(c.NodeID)
	}
	began := time.Now()
	left, err := s.waitEmpty(ctx, c, deadline)
	result := map[string]any{"node_id": c.NodeID, "in_flight": left, "waited_seconds": time.Since(began).Seconds()}
	if left > 0 {
		result["running"] = s.runningAt(c.NodeID)
	}
	return result, err
}

// waitEmpty waits until nothing runs at a node, and gives what does still.
func (s *Site) waitEmpty(ctx context.Context, c *edge.Command, deadline time.Duration) (left uint32, err error) {
	over := time.NewTimer(deadline)
	defer over.Stop()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	var most, said uint32
	var saidAt time.Time
	for {
		if left = s.inFlight(c.NodeID); left == 0 {
			return 0, nil
		}
		if !s.pool.Drained(c.NodeID) {
			return left, edge.Failed("The node was resumed before it was empty.")
		}
		most = max(most, left)
		if left != said || time.Since(saidAt) >= drainWord {
			c.Progress(int(100*(most-left)/most), stillRun(left))
			said, saidAt = left, time.Now()
		}
		select {
		case <-look.C:
		case <-over.C:
			if left = s.inFlight(c.NodeID); left == 0 {
				return 0, nil
			}
			return left, edge.Failed(fmt.Sprintf("%s after %v%s", strings.TrimSuffix(stillRun(left), "."), deadline, s.names(c.NodeID)))
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}

func stillRun(n uint32) string {
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
			if running := p.General.InFlight + p.LongContext.InFlight; n.ID == nodeID && running > 0 && !s.leased(n.ID, p.ID) {
				at = append(at, map[string]any{"provider_id": p.ID, "in_flight": running})
			}
		}
	}
	return at
}
