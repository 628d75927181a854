package edge

import (
	"maps"
	"slices"
	"time"
)

// Node is a machine of this Edge that runs models.
type Node struct {
	ID     string
	Name   string
	Labels map[string]string
	// Connected: the node is ready to serve.
	Connected bool
	// Announced: the site itself reports when the node becomes ready and when it is lost (see Announcer).
	Announced bool
	Providers []Provider
}

// Provider is one serving backend of a node.
type Provider struct {
	ID   string
	Type string
	// Models are those that it serves; nil: it hasn't told them yet.
	Models      []string
	Status      Status
	Health      Health
	General     Counters
	LongContext Counters
	// LoadAt is when it was asked for the load in General and LongContext; zero: it tells none, and their InFlight and
	// Queued are 0 and mean nothing. One that is Offline has it when nothing runs there, since it refused the connection.
	// If only LoadAt is newer, the Provider has not changed.
	LoadAt time.Time
}

// Counters are numbers of requests.
type Counters struct {
	Capacity uint32
	InFlight uint32
	Queued   uint32
}

// Status tells whether a provider takes requests. The zero value is "not known": its load can't be read any more.
type Status string

const (
	Available   Status = "available"
	Busy        Status = "busy"
	Unavailable Status = "unavailable"
)

// Health tells how a provider is. The zero value is "not known".
type Health string

const (
	Online   Health = "online"
	Degraded Health = "degraded"
	Offline  Health = "offline"
)

func equalNodes(a, b []Node) bool { return slices.EqualFunc(a, b, equalNode) }

func equalNode(a, b Node) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Connected == b.Connected &&
		maps.Equal(a.Labels, b.Labels) && slices.EqualFunc(a.Providers, b.Providers, equalProvider)
}

func equalProvider(a, b Provider) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Status == b.Status && a.Health == b.Health &&
		a.General == b.General && a.LongContext == b.LongContext && slices.Equal(a.Models, b.Models)
}
