package edge

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
)

var statusOnWire = map[Status]iopv1.ProviderStatus{
	Available:   iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE,
	Busy:        iopv1.ProviderStatus_PROVIDER_STATUS_BUSY,
	Unavailable: iopv1.ProviderStatus_PROVIDER_STATUS_UNAVAILABLE,
}

var healthOnWire = map[Health]iopv1.ProviderHealth{
	Online:   iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
	Degraded: iopv1.ProviderHealth_PROVIDER_HEALTH_DEGRADED,
	Offline:  iopv1.ProviderHealth_PROVIDER_HEALTH_OFFLINE,
}

// snapshotOnWire is the statement of an Edge as a message.
func snapshotOnWire(edgeID string, at time.Time, nodes []Node) *iopv1.EdgeStatusResponse {
	s := &iopv1.EdgeStatusResponse{EdgeId: edgeID, ObservedAt: timestamppb.New(at), Nodes: make([]*iopv1.EdgeNodeSnapshot, 0, len(nodes))}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, nodeOnWire(n))
	}
	return s
}

func nodeOnWire(n Node) *iopv1.EdgeNodeSnapshot {
	return &iopv1.EdgeNodeSnapshot{
		NodeId: text.Valid(n.ID), Name: text.Valid(n.Name), Connected: n.Connected, Labels: text.ValidMap(n.Labels),
		Providers: ProvidersOnWire(n.Providers),
	}
}

// ProvidersOnWire are providers as they are told, on the Edge wire and on the Node wire.
func ProvidersOnWire(providers []Provider) []*iopv1.EdgeProviderSnapshot {
	told := make([]*iopv1.EdgeProviderSnapshot, 0, len(providers))
	for _, p := range providers {
		models := make([]string, len(p.Models))
		for i, m := range p.Models {
			models[i] = text.Valid(m)
		}
		told = append(told, &iopv1.EdgeProviderSnapshot{
			ProviderId: text.Valid(p.ID), Type: text.Valid(p.Type), Models: models,
			Status: statusOnWire[p.Status], Health: healthOnWire[p.Health],
			General: countersOnWire(p.General), LongContext: countersOnWire(p.LongContext),
		})
	}
	return told
}

// ProvidersFromWire are providers as they were told. A status or health that isn't known here is "not known".
func ProvidersFromWire(told []*iopv1.EdgeProviderSnapshot) []Provider {
	providers := make([]Provider, 0, len(told))
	for _, p := range told {
		providers = append(providers, Provider{
			ID: p.GetProviderId(), Type: p.GetType(), Models: p.GetModels(),
			Status: keyOf(statusOnWire, p.GetStatus()), Health: keyOf(healthOnWire, p.GetHealth()),
			General: countersFromWire(p.GetGeneral()), LongContext: countersFromWire(p.GetLongContext()),
		})
	}
	return providers
}

func keyOf[K, V comparable](m map[K]V, value V) (key K) {
	for k, v := range m {
		if v == value {
			return k
		}
	}
	return key
}

func countersFromWire(c *iopv1.ProviderCounters) Counters {
	return Counters{Capacity: c.GetCapacity(), InFlight: c.GetInFlight(), Queued: c.GetQueued()}
}

func countersOnWire(c Counters) *iopv1.ProviderCounters {
	return &iopv1.ProviderCounters{Capacity: c.Capacity, InFlight: c.InFlight, Queued: c.Queued}
}
