package client

import (
	"context"
	"net/url"
	"time"
)

// Event is something that happened.
type Event struct {
	ID          string     `json:"id"` // opaque; a list or stream can continue after it
	EdgeID      *string    `json:"edge_id"`
	NodeID      *string    `json:"node_id"`
	OperationID *string    `json:"operation_id"`
	Kind        string     `json:"kind"` // such as edge_connected
	Message     *string    `json:"message"`
	At          time.Time  `json:"at"`          // by the Control Plane's clock
	OccurredAt  *time.Time `json:"occurred_at"` // the Edge's claim
}

// GapReason is why events are missing. A newer Control Plane may have other reasons.
type GapReason string

const (
	Overwritten GapReason = "overwritten" // newer ones took their place
	Restarted   GapReason = "restarted"   // the Control Plane was restarted
)

// Gap says that events are missing.
type Gap struct {
	Dropped *uint64   `json:"dropped"` // how many; nil: not known
	Reason  GapReason `json:"reason"`
}

// EventQuery picks events.
type EventQuery struct {
	EdgeID string // empty: of all Edges
	After  string // an event's id: the first Limit events after it; empty: the newest Limit events
	Limit  int    // 1 to 1000; 0: 100
}

// EventPage is a list of events, oldest first.
type EventPage struct {
	Events []*Event `json:"events"`
	Gap    *Gap     `json:"gap"`  // what is missing before the first one
	Next   *string  `json:"next"` // the After of the next page
}

// Events returns recent events.
func (r *Repository) Events(ctx context.Context, q EventQuery) (*EventPage, error) {
	path := "/fleet/events"
	if q.EdgeID != "" {
		var err error
		if path, err = edgePath(q.EdgeID, "events"); err != nil {
			return nil, err
		}
	}
	v := values{}
	v.text("after", q.After)
	v.number("limit", q.Limit)
	return answer[EventPage](ctx, r, request{path: path, query: url.Values(v)})
}
