package manage

import (
	"context"
	"fmt"
	"time"

	"iop/edge"
	"iop/edge/lease"
)

// listedLeases bounds a list of leases in a result.
const listedLeases = 200

// Operations are the commands that operate the site, for edge.Options. docs/edge.md has their parameters and results.
func (s *Site) Operations() map[string]edge.Operation {
	return map[string]edge.Operation{
		"node.drain":       s.drain,
		"node.resume":      s.resume,
		"provider.enable":  s.order((*lease.Pool).Enable),
		"provider.disable": s.order((*lease.Pool).Disable),
		"run.cancel":       s.cancelRun,
		"run.list":         s.listRuns,
	}
}

func unknownNode(id string) error {
	if id == "" {
		return edge.Rejected("The command needs a node_id.")
	}
	return edge.Rejected(fmt.Sprintf("This Edge has no node %.128q.", id))
}

func (s *Site) resume(_ context.Context, c *edge.Command) (map[string]any, error) {
	if err := OnlyParameters(c); err != nil {
		return nil, err
	}
	if !s.pool.Resume(c.NodeID) {
		return nil, unknownNode(c.NodeID)
	}
	return map[string]any{"node_id": c.NodeID}, nil
}

// order is provider.enable or provider.disable.
func (s *Site) order(order func(*lease.Pool, lease.Key) bool) edge.Operation {
	return func(_ context.Context, c *edge.Command) (map[string]any, error) {
		if err := OnlyParameters(c, "provider_id"); err != nil {
			return nil, err
		}
		id, err := text(c, "provider_id")
		if err != nil {
			return nil, err
		}
		if c.NodeID == "" {
			return nil, unknownNode("")
		}
		key := lease.Key{Node: c.NodeID, Provider: id}
		if !order(s.pool, key) {
			return nil, edge.Rejected(fmt.Sprintf("This Edge has no provider %.128q at a node %.128q.", id, c.NodeID))
		}
		load := s.pool.Loads()[key]
		return map[string]any{"node_id": c.NodeID, "provider_id": id, "leases": load.InFlight + load.LongInFlight}, nil
	}
}

func (s *Site) cancelRun(_ context.Context, c *edge.Command) (map[string]any, error) {
	if err := OnlyParameters(c, "lease_id"); err != nil {
		return nil, err
	}
	id, err := text(c, "lease_id")
	if err != nil {
		return nil, err
	}
	l := s.pool.Cancel(id)
	if l == nil {
		return nil, edge.Rejected("There is no such lease; it may have ended.")
	}
	return leaseView(l), nil
}

func (s *Site) listRuns(_ context.Context, c *edge.Command) (map[string]any, error) {
	if err := OnlyParameters(c); err != nil {
		return nil, err
	}
	leases, total := []any{}, 0
	for _, l := range s.pool.Live() {
		if c.NodeID != "" && l.Node != c.NodeID {
			continue
		}
		if total++; len(leases) < listedLeases {
			leases = append(leases, leaseView(l))
		}
	}
	return map[string]any{"leases": leases, "total": total}, nil
}

func leaseView(l *lease.Lease) map[string]any {
	return map[string]any{
		"lease_id": l.ID, "node_id": l.Node, "provider_id": l.Provider, "model": l.Model, "long_context": l.LongContext,
		"running_seconds": time.Since(l.Since).Seconds(),
	}
}
