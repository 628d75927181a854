package actors

import (
	"sync"
	"time"
)

// Kind is what happened.
type Kind string

const (
	EdgeConnected    Kind = "edge_connected"
	EdgeSuperseded   Kind = "edge_superseded"
	EdgeConflict     Kind = "edge_conflict"
	EdgeDisconnected Kind = "edge_disconnected"
	NodeReady        Kind = "node_ready"
	NodeDisconnected Kind = "node_disconnected"
	ProviderChanged  Kind = "provider_changed"
	CommandSent      Kind = "command_sent"
	CommandAccepted  Kind = "command_accepted"
	CommandStarted   Kind = "command_started"
	CommandProgress  Kind = "command_progress"
	CommandSucceeded Kind = "command_succeeded"
	CommandFailed    Kind = "command_failed"
	CommandRejected  Kind = "command_rejected"
	CommandCancelled Kind = "command_cancelled"
	CommandExpired   Kind = "command_expired"
	CommandUnknown   Kind = "command_unknown"
)

// Event is something that happened, as one line. It is never changed once it has its place.
type Event struct {
	Run         string // of the process, which all its events share
	Seq         uint64 // its place in the fleet's order
	EdgeID      string
	NodeID      string
	OperationID string
	Kind        Kind
	Message     string
	At          time.Time // the server's clock
	OccurredAt  time.Time // the Edge's claim; zero when it made none

	place uint64 // among its Edge's events; 0: that has no ring
}

// ID is opaque, ordered over the fleet, and tells runs of the process apart. It is made when it is asked for: most events are
// kept for long and shown never.
func (e *Event) ID() string { return string(e.AppendID(nil)) }

// AppendID appends the ID.
func (e *Event) AppendID(b []byte) []byte {
	return eventID{run: e.Run, seq: e.Seq, place: e.place, edge: edgeHash(e.EdgeID)}.append(b)
}

// Gap says that events are missing before those that follow.
type Gap struct {
	Dropped *uint64 // nil: not known how many
	Reason  GapReason
}

// GapReason is why events are missing.
type GapReason string

const (
	Overwritten GapReason = "overwritten" // the ring went round
	Restarted   GapReason = "restarted"   // the id is of an earlier run of the process, or of none
)

// EventPage is a part of a ring, oldest first.
type EventPage struct {
	Events []*Event
	Gap    *Gap
	Next   string // the last id listed, else `after` as given, else empty
}

// EventQuery asks for a page of the fleet's ring, or of one Edge's.
type EventQuery struct {
	EdgeID string // empty: the fleet's
	After  string // an event's id; empty: the newest Limit
	Limit  int
}

// LiveEvent is an event on its way to live readers, who share one rendering of it.
type LiveEvent struct {
	*Event
	once     sync.Once
	rendered []byte
}

// Render gives render's result, made once whichever reader asks first; all readers must pass the same function.
func (l *LiveEvent) Render(render func(*Event) []byte) []byte {
	l.once.Do(func() { l.rendered = render(l.Event) })
	return l.rendered
}

// Subscription is a live reader's end of the stream of events.
type Subscription struct {
	// Backlog is what came after the id that was resumed from, oldest first; empty without one.
	Backlog []*Event
	// Gap says what is missing before the backlog, or nil.
	Gap *Gap
	// Events carries what happens from the moment of the subscription, or of the backlog's end. It is closed when the reader
	// couldn't keep up (its buffer, SubscriberBuffer events, was full; Missed tells) or the system stops.
	Events <-chan *LiveEvent

	missed func() bool
	cancel func()
}

// Missed tells, once Events is closed, whether events were lost to this reader.
func (s *Subscription) Missed() bool { return s.missed() }

// Cancel ends the subscription; it may be called more than once.
func (s *Subscription) Cancel() { s.cancel() }

// SubscriberBuffer is how many events wait for one live reader. When it is full the reader is ended, so that it
// can resume by its last id and be told of a gap, instead of being skipped silently.
const SubscriberBuffer = 4096
