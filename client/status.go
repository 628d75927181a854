package client

import (
	"context"
	"net/url"
	"time"
)

// Source is where a Status comes from.
type Source string

const (
	Live   Source = "live" // the Edge was asked by this call
	Cached Source = "cached"
)

// ProviderStatus is whether a provider takes requests; "unspecified" where its Edge doesn't say. What a newer Edge says may be none of
// these.
type ProviderStatus string

const (
	Available   ProviderStatus = "available"
	Busy        ProviderStatus = "busy" // all of its capacity is in use
	Unavailable ProviderStatus = "unavailable"
)

// Health is whether a provider is well; "unspecified" where its Edge doesn't say. What a newer Edge says may be none of these.
type Health string

const (
	Online   Health = "online"
	Degraded Health = "degraded" // it answers, but seems not to work
	Offline  Health = "offline"
)

// Status is an Edge's whole statement of its nodes and providers at one moment. Where the Edge isn't connected it is what was
// known last, and Stale.
type Status struct {
	EdgeID     string     `json:"edge_id"`
	Connected  bool       `json:"connected"`
	Source     Source     `json:"source"`
	Stale      bool       `json:"stale"`
	ObservedAt *time.Time `json:"observed_at"` // by the Edge's clock
	ReceivedAt time.Time  `json:"received_at"`
	AgeMS      int64      `json:"age_ms"`
	Nodes      []*Node    `json:"nodes"`
}

// Age is how old the statement was when it was shown.
func (s *Status) Age() time.Duration { return time.Duration(s.AgeMS) * time.Millisecond }

// Node is one of an Edge's machines.
type Node struct {
	NodeID    string            `json:"node_id"`
	Name      *string           `json:"name"`
	Connected bool              `json:"connected"`
	Labels    map[string]string `json:"labels"`
	Providers []*Provider       `json:"providers"`
}

// Provider is a serving backend of a node. On a node that isn't connected it is unavailable and offline, its numbers 0.
type Provider struct {
	ProviderID  string         `json:"provider_id"`
	Type        *string        `json:"type"`
	Models      []string       `json:"models"`
	Status      ProviderStatus `json:"status"`
	Health      Health         `json:"health"`
	General     Counters       `json:"general"`
	LongContext Counters       `json:"long_context"`
}

// Counters are in requests.
type Counters struct {
	Capacity uint64 `json:"capacity"`
	InFlight uint64 `json:"in_flight"`
	Queued   uint64 `json:"queued"`
}

// StatusQuery says how an Edge is asked.
type StatusQuery struct {
	// Timeout is what the Edge is given to answer, at most 30 s; 0: 2 s.
	Timeout time.Duration
	// MaxAge lets a snapshot that is at most so old answer at once, also for an Edge that isn't connected; nil: the Edge is asked.
	MaxAge *time.Duration
}

const defaultStatusTimeout = 2 * time.Second

// Status gives an Edge's nodes and providers.
func (r *Repository) Status(ctx context.Context, edgeID string, q StatusQuery) (*Status, error) {
	path, err := edgePath(edgeID, "status")
	if err != nil {
		return nil, err
	}
	v := values{}
	v.duration("timeout", q.Timeout)
	v.age("max_age", q.MaxAge)
	return answer[Status](ctx, r, request{path: path, query: url.Values(v), patience: patience(q.Timeout)})
}

func patience(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return defaultStatusTimeout
	}
	return timeout
}
