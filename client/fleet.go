package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// FleetQuery picks Edges, and says how to ask those whose snapshot is too old.
type FleetQuery struct {
	Labels map[string]string // all must match
	// MaxAge is how old a snapshot may be to count; nil: 15 s.
	MaxAge *time.Duration
	// Timeout is how long Edges have to answer, at most 30 s; 0: 2 s.
	Timeout time.Duration
	Limit   int    // of a page, 1 to 1000; 0: 100. Only for FleetStatus, like Cursor.
	Cursor  string // a page's NextCursor
}

func (q FleetQuery) request(path string) request {
	v := values{}
	v.labels(q.Labels)
	v.age("max_age", q.MaxAge)
	v.duration("timeout", q.Timeout)
	v.number("limit", q.Limit)
	v.text("cursor", q.Cursor)
	return request{path: path, query: url.Values(v), patience: patience(q.Timeout)}
}

// FleetSummary is what the Edges' snapshots add up to. An Edge without a recent enough one is in Unanswered and in no total.
type FleetSummary struct {
	At         time.Time  `json:"at"`
	Edges      EdgeCounts `json:"edges"`
	Answered   int        `json:"answered"`
	Unanswered int        `json:"unanswered"`
	Fresh      Totals     `json:"fresh"` // of connected Edges
	Stale      Totals     `json:"stale"` // of disconnected Edges, as last observed; don't plan with it
	// OldestAgeMS is the age of the oldest snapshot that was added up; nil when there was none.
	OldestAgeMS *int64 `json:"oldest_age_ms"`
}

// Totals are sums over snapshots.
type Totals struct {
	Edges              int      `json:"edges"`
	Nodes              int      `json:"nodes"`
	NodesConnected     int      `json:"nodes_connected"`
	Providers          int      `json:"providers"`
	ProvidersAvailable int      `json:"providers_available"`
	General            Capacity `json:"general"`
	LongContext        Capacity `json:"long_context"`
}

// Capacity is in numbers of requests. Free is capacity minus in flight over the available providers, never below 0.
type Capacity struct {
	Counters
	Free uint64 `json:"free"`
}

// FleetStatus is a page of the Edges' answers, or why there is none, with the summary over all Edges that match.
type FleetStatus struct {
	FleetSummary
	Statuses   []*Status   `json:"statuses"`
	Errors     []EdgeFault `json:"errors"`
	NextCursor *string     `json:"next_cursor"` // nil on the last page
}

// EdgeFault is why an Edge has no recent enough snapshot.
type EdgeFault struct {
	EdgeID string `json:"edge_id"`
	Code   Code   `json:"code"`
}

// FleetModels is capacity by model.
type FleetModels struct {
	At     time.Time        `json:"at"`
	Models []*ModelCapacity `json:"models"`
}

// ModelCapacity is what serves one model. A provider of several models counts in full under each.
type ModelCapacity struct {
	Model              string   `json:"model"`
	Edges              int      `json:"edges"`
	Providers          int      `json:"providers"` // also those on nodes that aren't connected
	ProvidersAvailable int      `json:"providers_available"`
	General            Capacity `json:"general"`
	LongContext        Capacity `json:"long_context"`
}

// FleetSummary returns only the totals.
func (r *Repository) FleetSummary(ctx context.Context, q FleetQuery) (*FleetSummary, error) {
	return answer[FleetSummary](ctx, r, q.request("/fleet/summary"))
}

// FleetStatus returns one page, of fewer than Limit if that many are too large for an answer. Only a query without Cursor makes the
// Control Plane ask Edges.
func (r *Repository) FleetStatus(ctx context.Context, q FleetQuery) (*FleetStatus, error) {
	return r.fleetStatus(ctx, &q)
}

func (r *Repository) fleetStatus(ctx context.Context, q *FleetQuery) (*FleetStatus, error) {
	return pageOf[FleetStatus](ctx, r, &q.Limit, func() request { return q.request("/fleet/status") })
}

// AllFleetStatus yields all pages from the query's on. After an error it ends.
func (r *Repository) AllFleetStatus(ctx context.Context, q FleetQuery) iter.Seq2[*FleetStatus, error] {
	return all(ctx, q.Cursor, func(ctx context.Context, cursor string) (fleetPage, error) {
		q.Cursor = cursor
		p, err := r.fleetStatus(ctx, &q)
		return fleetPage{p}, err
	})
}

// fleetPage is a list of one: the page itself, since its totals belong to it.
type fleetPage struct{ *FleetStatus }

func (p fleetPage) items() []*FleetStatus { return []*FleetStatus{p.FleetStatus} }
func (p fleetPage) next() *string         { return p.NextCursor }

// FleetModels returns the capacity by model.
func (r *Repository) FleetModels(ctx context.Context, q FleetQuery) (*FleetModels, error) {
	return answer[FleetModels](ctx, r, q.request("/fleet/models"))
}
