package httpapi

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
)

// modelTotals is what serves one model over the fleet. A provider of several models counts whole under each, so
// models don't add up to the fleet.
type modelTotals struct {
	lastEdge             string // the edges are visited one after the other
	lastProvider         int    // by its number; the providers are, too
	edges                int
	providers, available int
	general, longContext actors.Capacity
}

// modelTable adds up snapshots by model.
type modelTable struct {
	models    map[string]*modelTotals
	providers int // visited so far
}

func (m *modelTable) add(snapshot *actors.Snapshot) {
	for _, n := range snapshot.Nodes() {
		for _, p := range n.Providers {
			m.providers++
			for _, model := range p.Models {
				m.addProvider(model, snapshot.EdgeID, p, n.Connected)
			}
		}
	}
}

// addProvider counts a provider once under a model, also where it names it twice; its numbers only where its node is
// connected, as in the fleet's totals.
func (m *modelTable) addProvider(model, edgeID string, p *iopv1.EdgeProviderSnapshot, nodeConnected bool) {
	t := m.models[model]
	if t == nil {
		t = &modelTotals{}
		m.models[model] = t
	}
	if t.lastProvider == m.providers {
		return
	}
	t.lastProvider = m.providers
	if t.lastEdge != edgeID {
		t.lastEdge = edgeID
		t.edges++
	}
	t.providers++
	if !nodeConnected {
		return
	}
	available := p.Status == iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE
	if available {
		t.available++
	}
	t.general.Count(p.General, available)
	t.longContext.Count(p.LongContext, available)
}

// fleetModels answers with capacity by model, from the acceptable snapshots of connected Edges.
func (s *Server) fleetModels(c *call) *problem {
	n, p := s.askedFleet(c)
	if p != nil {
		return p
	}
	table := modelTable{models: map[string]*modelTotals{}}
	n.each(func(v *actors.View, acceptable *actors.Snapshot) {
		if v.Connected && acceptable != nil {
			table.add(acceptable)
		}
	})
	c.render(func(b []byte) []byte { return table.append(b, n.fleet.At) })
	return nil
}

func (m *modelTable) append(b []byte, at time.Time) []byte {
	b = append(b, `{"at":`...)
	b = appendTime(b, at)
	b = append(b, `,"models":[`...)
	for i, model := range slices.Sorted(maps.Keys(m.models)) {
		if i > 0 {
			b = append(b, ',')
		}
		t := m.models[model]
		b = append(b, `{"model":`...)
		b = appendString(b, model)
		b = append(b, `,"edges":`...)
		b = strconv.AppendInt(b, int64(t.edges), 10)
		b = append(b, `,"providers":`...)
		b = strconv.AppendInt(b, int64(t.providers), 10)
		b = append(b, `,"providers_available":`...)
		b = strconv.AppendInt(b, int64(t.available), 10)
		b = append(b, `,"general":`...)
		b = appendCapacity(b, &t.general)
		b = append(b, `,"long_context":`...)
		b = appendCapacity(b, &t.longContext)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}
