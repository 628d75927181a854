package httpapi

import (
	"strconv"
	"time"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	defaultStatusTimeout = 2 * time.Second
	maxStatusTimeout     = 30 * time.Second
)

// edgeStatus answers from a snapshot that is young enough, where the caller allows one; else the Edge is asked.
func (s *Server) edgeStatus(c *call) *problem {
	q := c.query()
	timeout := q.timeout()
	maxAge, cached := q.maxAge()
	if q.problem != nil {
		return q.problem
	}
	if cached {
		f, v, p := c.edge()
		if p != nil {
			return p
		}
		if snapshot := v.Pulse.Snapshot(); snapshot != nil && f.Age(snapshot) <= maxAge {
			c.render(func(b []byte) []byte {
				return appendStatus(b, snapshot, statusOrigin{connected: v.Connected, age: f.Age(snapshot)})
			})
			return nil
		}
	}
	return s.askedStatus(c, timeout)
}

func (s *Server) askedStatus(c *call, timeout time.Duration) *problem {
	ctx, cancel := c.within(timeout)
	defer cancel()
	reply := s.opts.Plane.Status(ctx, c.edgeID, timeout)
	if reply.Fault != nil {
		p := asProblem(reply.Fault)
		p.edgeError = reply.EdgeError
		if p.Code == wire.EdgeDisconnected {
			p.edge = c.lastEnd(reply.View)
		}
		return p
	}
	age := max(0, time.Since(reply.Snapshot.ReceivedAt))
	c.render(func(b []byte) []byte {
		return appendStatus(b, reply.Snapshot, statusOrigin{live: true, connected: true, age: age, nodes: reply.Nodes})
	})
	return nil
}

// statusOrigin is what a status view says of where its snapshot comes from.
type statusOrigin struct {
	live      bool // the Edge was asked for it now
	connected bool
	age       time.Duration
	nodes     []*iopv1.EdgeNodeSnapshot // where they are decoded already
}

// appendStatus writes a snapshot as a view. The snapshot of an Edge that isn't connected is shown as it was last
// observed, and said to be stale.
func appendStatus(b []byte, snapshot *actors.Snapshot, from statusOrigin) []byte {
	b = append(b, `{"edge_id":`...)
	b = appendString(b, snapshot.EdgeID)
	b = append(b, `,"connected":`...)
	b = strconv.AppendBool(b, from.connected)
	if from.live {
		b = append(b, `,"source":"live"`...)
	} else {
		b = append(b, `,"source":"cached"`...)
	}
	b = append(b, `,"stale":`...)
	b = strconv.AppendBool(b, !from.connected)
	b = append(b, `,"observed_at":`...)
	b = appendTime(b, snapshot.ObservedAt)
	b = append(b, `,"received_at":`...)
	b = appendTime(b, snapshot.ReceivedAt)
	b = append(b, `,"age_ms":`...)
	b = appendMillis(b, from.age)
	b = append(b, `,"nodes":[`...)
	nodes := from.nodes
	if nodes == nil {
		nodes = snapshot.Nodes()
	}
	for i, n := range nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNode(b, n)
	}
	return append(b, `]}`...)
}

func appendNode(b []byte, n *iopv1.EdgeNodeSnapshot) []byte {
	b = append(b, `{"node_id":`...)
	b = appendString(b, n.NodeId)
	b = append(b, `,"name":`...)
	b = appendStringOrNull(b, n.Name)
	b = append(b, `,"connected":`...)
	b = strconv.AppendBool(b, n.Connected)
	b = append(b, `,"labels":`...)
	b = appendLabels(b, n.Labels)
	b = append(b, `,"providers":[`...)
	for i, p := range n.Providers {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendProvider(b, p, n.Connected)
	}
	return append(b, `]}`...)
}

// appendProvider shows nothing that could be planned with on a node that isn't connected, whatever the Edge sent.
func appendProvider(b []byte, p *iopv1.EdgeProviderSnapshot, nodeConnected bool) []byte {
	status, health := p.Status, p.Health
	general, longContext := p.General, p.LongContext
	if !nodeConnected {
		status, health = iopv1.ProviderStatus_PROVIDER_STATUS_UNAVAILABLE, iopv1.ProviderHealth_PROVIDER_HEALTH_OFFLINE
		general, longContext = nil, nil
	}
	b = append(b, `{"provider_id":`...)
	b = appendString(b, p.ProviderId)
	b = append(b, `,"type":`...)
	b = appendStringOrNull(b, p.Type)
	b = append(b, `,"models":`...)
	b = appendStrings(b, p.Models)
	b = append(b, `,"status":`...)
	b = appendString(b, statusName(status))
	b = append(b, `,"health":`...)
	b = appendString(b, healthName(health))
	b = append(b, `,"general":`...)
	b = appendCounters(b, general)
	b = append(b, `,"long_context":`...)
	b = appendCounters(b, longContext)
	return append(b, '}')
}

func appendCounters(b []byte, n *iopv1.ProviderCounters) []byte {
	b = append(b, `{"capacity":`...)
	b = strconv.AppendUint(b, uint64(n.GetCapacity()), 10)
	b = append(b, `,"in_flight":`...)
	b = strconv.AppendUint(b, uint64(n.GetInFlight()), 10)
	b = append(b, `,"queued":`...)
	b = strconv.AppendUint(b, uint64(n.GetQueued()), 10)
	return append(b, '}')
}

const unspecified = "unspecified" // also what a newer Edge says that this version has no word for

func statusName(s iopv1.ProviderStatus) string {
	switch s {
	case iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE:
		return "available"
	case iopv1.ProviderStatus_PROVIDER_STATUS_BUSY:
		return "busy"
	case iopv1.ProviderStatus_PROVIDER_STATUS_UNAVAILABLE:
		return "unavailable"
	default:
		return unspecified
	}
}

func healthName(h iopv1.ProviderHealth) string {
	switch h {
	case iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE:
		return "online"
	case iopv1.ProviderHealth_PROVIDER_HEALTH_DEGRADED:
		return "degraded"
	case iopv1.ProviderHealth_PROVIDER_HEALTH_OFFLINE:
		return "offline"
	default:
		return unspecified
	}
}
