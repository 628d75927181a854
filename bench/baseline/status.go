package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// The status view, as the Control Plane's.
type (
	statusView struct {
		EdgeID     string     `json:"edge_id"`
		Connected  bool       `json:"connected"`
		Source     string     `json:"source"`
		Stale      bool       `json:"stale"`
		ObservedAt time.Time  `json:"observed_at"`
		ReceivedAt time.Time  `json:"received_at"`
		AgeMs      int64      `json:"age_ms"`
		Nodes      []nodeView `json:"nodes"`
	}
	nodeView struct {
		NodeID    string            `json:"node_id"`
		Name      string            `json:"name"`
		Connected bool              `json:"connected"`
		Labels    map[string]string `json:"labels"`
		Providers []providerView    `json:"providers"`
	}
	providerView struct {
		ProviderID  string       `json:"provider_id"`
		Type        string       `json:"type"`
		Models      []string     `json:"models"`
		Status      string       `json:"status"`
		Health      string       `json:"health"`
		General     countersView `json:"general"`
		LongContext countersView `json:"long_context"`
	}
	countersView struct {
		Capacity uint32 `json:"capacity"`
		InFlight uint32 `json:"in_flight"`
		Queued   uint32 `json:"queued"`
	}
)

const statusTimeout = 2 * time.Second

func (s *server) status(w http.ResponseWriter, r *http.Request) {
	e := s.get(r.PathValue("id"))
	if e == nil {
		http.Error(w, "edge_not_found", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
	defer cancel()
	status, err := e.askStatus(ctx, statusTimeout)
	if err != nil {
		http.Error(w, "edge_timeout", http.StatusGatewayTimeout)
		return
	}
	writeJSON(w, viewOf(status, time.Now()))
}

func writeJSON(w http.ResponseWriter, view any) {
	body, err := json.Marshal(view)
	if err != nil {
		http.Error(w, "internal", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func viewOf(m *iopv1.EdgeStatusResponse, at time.Time) statusView {
	v := statusView{EdgeID: m.EdgeId, Connected: true, Source: "live", ObservedAt: m.ObservedAt.AsTime(), ReceivedAt: at,
		AgeMs: time.Since(at).Milliseconds(), Nodes: make([]nodeView, len(m.Nodes))}
	for i, n := range m.Nodes {
		node := nodeView{NodeID: n.NodeId, Name: n.Name, Connected: n.Connected, Labels: n.Labels, Providers: make([]providerView, len(n.Providers))}
		for j, p := range n.Providers {
			node.Providers[j] = providerViewOf(p)
		}
		v.Nodes[i] = node
	}
	return v
}

func providerViewOf(p *iopv1.EdgeProviderSnapshot) providerView {
	return providerView{
		ProviderID: p.ProviderId, Type: p.Type, Models: p.Models,
		Status: word(statusWords, int(p.Status)), Health: word(healthWords, int(p.Health)),
		General: countersOf(p.General), LongContext: countersOf(p.LongContext),
	}
}

var (
	statusWords = []string{"unspecified", "available", "busy", "unavailable"}
	healthWords = []string{"unspecified", "online", "degraded", "offline"}
)

func word(words []string, n int) string {
	if n < 0 || n >= len(words) {
		n = 0
	}
	return words[n]
}

func countersOf(c *iopv1.ProviderCounters) countersView {
	return countersView{c.GetCapacity(), c.GetInFlight(), c.GetQueued()}
}
