package actors

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"iop/wire"
)

// OperationState is how far a command came.
type OperationState string

const (
	Pending   OperationState = "pending" // not written to the Edge yet
	Sent      OperationState = "sent"    // written, unanswered
	Accepted  OperationState = "accepted"
	Running   OperationState = "running"
	Succeeded OperationState = "succeeded"
	Failed    OperationState = "failed"
	Rejected  OperationState = "rejected"
	Cancelled OperationState = "cancelled"
	Expired   OperationState = "expired" // never sent, and never will be
	Unknown   OperationState = "unknown" // sent, outcome not known; may still become any terminal state
)

// Terminal tells whether a state is final.
func (s OperationState) Terminal() bool {
	switch s {
	case Succeeded, Failed, Rejected, Cancelled, Expired:
		return true
	}
	return false
}

// Operation is the record of one command, from asked to settled. Like a View it is never changed in place.
type Operation struct {
	ID            string
	EdgeID        string
	Operation     string
	NodeID        string
	Parameters    json.RawMessage // a JSON object, or nil
	Reason        string
	RequestedBy   string // empty without auth
	RequestID     string // of the first request that asked for it
	State         OperationState
	CreatedAt     time.Time
	ExpiresAt     time.Time // the Edge refuses what arrives later
	SentAt        time.Time // zero until then, as the two below
	RespondedAt   time.Time
	FinishedAt    time.Time
	Message       string
	Result        json.RawMessage  // a JSON object, or nil
	Events        []OperationEvent // the newest maxOperationEvents
	EventsDropped uint64
}

// maxOperationEvents is how many entries an operation keeps; the oldest go first and are counted.
const maxOperationEvents = 64

// OperationEvent is one entry of an operation's history.
type OperationEvent struct {
	Phase           string // started, progress, succeeded, failed, cancelled, rejected, accepted, unknown
	Message         string
	ProgressPercent uint32
	OccurredAt      time.Time // the Edge's claim; zero when it made none
	ReceivedAt      time.Time
}

// CommandAsk is a command that an operator wants an Edge to run.
type CommandAsk struct {
	EdgeID      string
	Operation   string
	NodeID      string
	Parameters  *structpb.Struct // as they travel; nil: none
	Shown       json.RawMessage  // Parameters as the record shows them: a JSON object, or nil
	Timeout     time.Duration
	Reason      string
	RequestedBy string
	RequestID   string   // of the request that asks
	Key         string   // Idempotency-Key, scoped to the Edge; empty: none
	Fingerprint [32]byte // of the body as parsed JSON, where there is a Key: what makes a reuse of it a conflict
	Wait        bool     // answer when the Edge answered; else once it is on its way
}

// CommandReply answers a CommandAsk: an Operation, a Fault, or both (the fault ended the wait, the record goes on).
type CommandReply struct {
	Operation *Operation
	Fault     *wire.Fault
	// EdgeError is the Edge's code without its prefix (INTERNAL) where Fault is edge_error; empty: nonsense.
	EdgeError string
}

// OperationQuery asks for a page of the audit, newest first.
type OperationQuery struct {
	EdgeID string         // empty: the fleet's
	State  OperationState // empty: any
	Before string         // the operation id that the last page ended with; empty: the newest
	Limit  int
}

// OperationPage is a part of the audit.
type OperationPage struct {
	Operations []*Operation
	Dropped    uint64 // records that had to go since the process started, of this Edge or of the fleet
	More       bool   // there are older ones
}
