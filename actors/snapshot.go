package actors

import (
	"time"

	"google.golang.org/protobuf/proto"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// Snapshot is an Edge's whole statement at one moment, as kept: encoded, because most are replaced before
// anybody reads them, with their totals added up once.
type Snapshot struct {
	EdgeID     string
	ObservedAt time.Time // the Edge's claim; zero when it made none
	ReceivedAt time.Time // with the monotonic clock
	Totals     Totals

	encoded []byte
}

// Nodes decodes what the Edge said, as it said it; a view must still zero what a node that isn't connected claims.
func (s *Snapshot) Nodes() []*iopv1.EdgeNodeSnapshot {
	m := &iopv1.EdgeStatusResponse{}
	if proto.Unmarshal(s.encoded, m) != nil {
		return nil // can't be: it was decoded when it came
	}
	return m.Nodes
}

// Totals adds up one or many snapshots.
type Totals struct {
	Edges, Nodes, NodesConnected  int
	Providers, ProvidersAvailable int
	General, LongContext          Capacity
}

// Capacity is in numbers of requests.
type Capacity struct {
	Capacity, InFlight, Queued uint64
	Free                       uint64 // capacity - in_flight over available providers, never below 0 for any of them
}

// Add adds another's totals.
func (t *Totals) Add(o Totals) {
	t.Edges += o.Edges
	t.Nodes += o.Nodes
	t.NodesConnected += o.NodesConnected
	t.Providers += o.Providers
	t.ProvidersAvailable += o.ProvidersAvailable
	t.General.Add(o.General)
	t.LongContext.Add(o.LongContext)
}

// Add adds another's numbers.
func (c *Capacity) Add(o Capacity) {
	c.Capacity += o.Capacity
	c.InFlight += o.InFlight
	c.Queued += o.Queued
	c.Free += o.Free
}

// Count adds one provider's counters; free only where the provider takes work.
func (c *Capacity) Count(p *iopv1.ProviderCounters, available bool) {
	c.Capacity += uint64(p.GetCapacity())
	c.InFlight += uint64(p.GetInFlight())
	c.Queued += uint64(p.GetQueued())
	if available && p.GetCapacity() > p.GetInFlight() {
		c.Free += uint64(p.GetCapacity() - p.GetInFlight())
	}
}

// newSnapshot makes what is kept of a status that came as encoded; it takes that over, and nothing of m but its numbers.
func newSnapshot(edgeID string, m *iopv1.EdgeStatusResponse, encoded []byte, at time.Time) *Snapshot {
	s := &Snapshot{EdgeID: edgeID, ReceivedAt: at, Totals: totalsOf(m), encoded: encoded}
	if m.ObservedAt.IsValid() {
		s.ObservedAt = m.ObservedAt.AsTime()
	}
	return s
}

// encodingOf copies a status out of its frame.
func encodingOf(frame []byte, m *iopv1.EdgeStatusResponse) []byte {
	if body := wire.Body(frame, wire.StatusField); body != nil {
		return append(make([]byte, 0, len(body)), body...)
	}
	encoded, _ := proto.Marshal(m) // fails only for what isn't UTF-8, which the decoder refused
	return encoded
}

// totalsOf adds up one snapshot. A node that isn't connected counts as a node and its providers as
// providers, but none of its numbers do: they are not what can be planned with, whatever the Edge sent.
func totalsOf(m *iopv1.EdgeStatusResponse) Totals {
	t := Totals{Edges: 1, Nodes: len(m.Nodes)}
	for _, n := range m.Nodes {
		t.Providers += len(n.Providers)
		if !n.Connected {
			continue
		}
		t.NodesConnected++
		for _, p := range n.Providers {
			available := p.Status == iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE
			if available {
				t.ProvidersAvailable++
			}
			t.General.Count(p.General, available)
			t.LongContext.Count(p.LongContext, available)
		}
	}
	return t
}
