package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	iopv1 "iop/proto/iop/v1"
)

const (
	pageSize      = 100 // of lists, as the Control Plane's default
	gatherTimeout = 30 * time.Second
)

// all gives the edges in order of their ids.
func (s *server) all() []*edge {
	s.mu.RLock()
	all := make([]*edge, 0, len(s.edges))
	for _, e := range s.edges {
		all = append(all, e)
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(a, b *edge) int { return strings.Compare(a.id, b.id) })
	return all
}

type edgeView struct {
	EdgeID    string `json:"edge_id"`
	Connected bool   `json:"connected"`
}

// list gives the first page.
func (s *server) list(w http.ResponseWriter, _ *http.Request) {
	all := s.all()
	page := make([]edgeView, min(pageSize, len(all)))
	for i := range page {
		page[i] = edgeView{EdgeID: all[i].id, Connected: true}
	}
	writeJSON(w, map[string]any{"edges": page, "total": len(all), "connected": len(all)})
}

// totals are what snapshots add up to.
type totals struct {
	Edges              int          `json:"edges"`
	Nodes              int          `json:"nodes"`
	NodesConnected     int          `json:"nodes_connected"`
	Providers          int          `json:"providers"`
	ProvidersAvailable int          `json:"providers_available"`
	General            countersView `json:"general"`
	LongContext        countersView `json:"long_context"`
}

func (t *totals) add(m *iopv1.EdgeStatusResponse) {
	t.Edges++
	for _, n := range m.Nodes {
		t.Nodes++
		if n.Connected {
			t.NodesConnected++
		}
		for _, p := range n.Providers {
			t.Providers++
			if p.Status == iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE {
				t.ProvidersAvailable++
			}
			t.General.add(p.General)
			t.LongContext.add(p.LongContext)
		}
	}
}

func (v *countersView) add(c *iopv1.ProviderCounters) {
	v.Capacity += c.GetCapacity()
	v.InFlight += c.GetInFlight()
	v.Queued += c.GetQueued()
}

type fleetView struct {
	At       time.Time    `json:"at"`
	Answered int          `json:"answered"`
	Fresh    totals       `json:"fresh"`
	Statuses []statusView `json:"statuses,omitempty"`
}

// summary adds up the newest snapshots.
func (s *server) summary(w http.ResponseWriter, _ *http.Request) {
	v := fleetView{At: time.Now()}
	s.mu.RLock()
	for _, e := range s.edges {
		e.mu.Lock()
		last := e.last
		e.mu.Unlock()
		if last != nil { // nobody changes it
			v.Fresh.add(last)
		}
	}
	s.mu.RUnlock()
	v.Answered = v.Fresh.Edges
	writeJSON(w, v)
}

// gather asks all at once and shows the first page.
func (s *server) gather(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), gatherTimeout)
	defer cancel()
	all := s.all()
	answers := make([]*iopv1.EdgeStatusResponse, len(all))
	var asking sync.WaitGroup
	for i, e := range all {
		asking.Go(func() {
			if m, err := e.askStatus(ctx, gatherTimeout); err == nil {
				answers[i] = m
			}
		})
	}
	asking.Wait()
	v := fleetView{At: time.Now()}
	for _, m := range answers {
		if m == nil {
			continue
		}
		v.Fresh.add(m)
		if len(v.Statuses) < pageSize {
			v.Statuses = append(v.Statuses, viewOf(m, v.At))
		}
	}
	v.Answered = v.Fresh.Edges
	writeJSON(w, v)
}
