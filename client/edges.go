package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// State is whether an Edge is connected.
type State string

const (
	Connected    State = "connected"
	Stale        State = "stale" // connected, but nothing was heard for 1.5 heartbeat intervals
	Disconnected State = "disconnected"
)

// Edge is one Edge of the registry. A nil field is something that the Edge never said, or that never happened.
type Edge struct {
	EdgeID     string            `json:"edge_id"`
	Name       *string           `json:"name"`
	Version    *string           `json:"version"`
	Labels     map[string]string `json:"labels"`
	Operations []string          `json:"operations"`  // that it runs; empty when it doesn't say
	InstanceID *string           `json:"instance_id"` // new at each start of the Edge's process
	State      State             `json:"state"`
	Connected  bool              `json:"connected"`

	ConnectedAt      *time.Time `json:"connected_at"`
	LastSeenAt       *time.Time `json:"last_seen_at"`
	DisconnectedAt   *time.Time `json:"disconnected_at"`
	DisconnectReason *string    `json:"disconnect_reason"`

	Connections uint64 `json:"connections"` // claims of the id since the Control Plane started
	Takeovers   uint64 `json:"takeovers"`
	Conflict    bool   `json:"conflict"` // two instances fight over the id

	HeartbeatIntervalMS int64  `json:"heartbeat_interval_ms"`
	ClockSkewMS         *int64 `json:"clock_skew_ms"` // the Edge's clock minus the Control Plane's
	SnapshotAgeMS       *int64 `json:"snapshot_age_ms"`
}

// EdgeCounts counts Edges by state: Total = Connected + Stale + Disconnected.
type EdgeCounts struct {
	Total        int `json:"total"`
	Connected    int `json:"connected"` // fresh ones only
	Stale        int `json:"stale"`
	Disconnected int `json:"disconnected"`
}

// EdgeQuery picks Edges; the zero value is all of them.
type EdgeQuery struct {
	State  State
	Labels map[string]string // all must match
	Prefix string            // of the edge_id
	Limit  int               // of a page, 1 to 1000; 0: 100
	Cursor string            // a page's NextCursor
}

func (q EdgeQuery) values() url.Values {
	v := values{}
	v.text("state", string(q.State))
	v.labels(q.Labels)
	v.text("prefix", q.Prefix)
	v.number("limit", q.Limit)
	v.text("cursor", q.Cursor)
	return url.Values(v)
}

// EdgePage is a page of Edges, by edge_id. The counts are of all Edges that match, not only of this page.
type EdgePage struct {
	Edges []*Edge `json:"edges"`
	EdgeCounts
	NextCursor *string `json:"next_cursor"` // nil on the last page
}

func (p *EdgePage) items() []*Edge { return p.Edges }
func (p *EdgePage) next() *string  { return p.NextCursor }

// Edge returns one Edge.
func (r *Repository) Edge(ctx context.Context, edgeID string) (*Edge, error) {
	path, err := edgePath(edgeID)
	if err != nil {
		return nil, err
	}
	return answer[Edge](ctx, r, request{path: path})
}

// Edges returns one page, of fewer than Limit if that many are too large for an answer.
func (r *Repository) Edges(ctx context.Context, q EdgeQuery) (*EdgePage, error) {
	return r.edges(ctx, &q)
}

func (r *Repository) edges(ctx context.Context, q *EdgeQuery) (*EdgePage, error) {
	return pageOf[EdgePage](ctx, r, &q.Limit, func() request { return request{path: "/edges", query: q.values()} })
}

// AllEdges yields all Edges from the query's page on, by edge_id, fetching pages as they are needed. After an error it
// ends.
func (r *Repository) AllEdges(ctx context.Context, q EdgeQuery) iter.Seq2[*Edge, error] {
	return all(ctx, q.Cursor, func(ctx context.Context, cursor string) (*EdgePage, error) {
		q.Cursor = cursor
		return r.edges(ctx, &q)
	})
}

// answer is call for a view that is made here.
func answer[V any](ctx context.Context, r *Repository, q request) (*V, error) {
	v := new(V)
	if err := r.call(ctx, q, v); err != nil {
		return nil, err
	}
	return v, nil
}
