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

// ProviderStatus is whether a provider takes requests; "unspecified" if its Edge doesn't say. A newer Edge may have other values.
type ProviderStatus string

const (
	Available   ProviderStatus = "available"
	Busy        ProviderStatus = "busy" // all of its capacity is in use
	Unavailable ProviderStatus = "unavailable"
)

// Health is whether a provider works; "unspecified" if its Edge doesn't say. A newer Edge may have other values.
type Health string

const (
	Online   Health = "online"
	Degraded Health = "degraded" // it answers, but seems not to work
	Offline  Health = "offline"
)

// Status has all nodes and providers of an Edge at one moment. If the Edge isn't connected, it is what was known last, and Stale.
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

// Age is how old the status was when the Control Plane answered.
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

// StatusQuery says how to ask an Edge.
type StatusQuery struct {
	// Timeout is how long the Edge has to answer, at most 30 s; 0: 2 s.
	Timeout time.Duration
	// MaxAge: a snapshot that is at most this old answers at once, even if the Edge isn't connected; nil: the Edge is asked.
	MaxAge *time.Duration
}

const defaultStatusTimeout = 2 * time.Second

// Status returns an Edge's nodes and providers.
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
