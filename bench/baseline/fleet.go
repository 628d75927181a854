package main

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	iopv1 "iop/proto/iop/v1"
)

const (
	pageSize      = 100 // of statuses, as the Control Plane's default
	maxPageSize   = 1000
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
	EdgeID     string            `json:"edge_id"`
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	Labels     map[string]string `json:"labels"`
	Operations []string          `json:"operations"`
	InstanceID string            `json:"instance_id"`
	Connected  bool              `json:"connected"`
}

type edgePage struct {
	Edges      []edgeView `json:"edges"`
	Total      int        `json:"total"`
	NextCursor *string    `json:"next_cursor"`
}

// list gives the first page, or the one that begins after the Edge that the cursor names.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	all := s.all()
	limit, err := strconv.Atoi(cmp.Or(r.FormValue("limit"), "100"))
	if err != nil || limit < 1 || limit > maxPageSize {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	after := r.FormValue("cursor")
	from := sort.Search(len(all), func(i int) bool { return all[i].id > after })
	rest := all[from:]
	page := edgePage{Edges: make([]edgeView, min(limit, len(rest))), Total: len(all)}
	for i := range page.Edges {
		h := rest[i].hello
		page.Edges[i] = edgeView{EdgeID: h.EdgeId, Name: h.Name, Version: h.Version, Labels: h.Labels, Operations: h.Operations, InstanceID: h.InstanceId, Connected: true}
	}
	if len(rest) > limit {
		page.NextCursor = &page.Edges[limit-1].EdgeID
	}
	writeJSON(w, page)
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
