package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// OperationState is how far a command has come.
type OperationState string

const (
	Pending   OperationState = "pending"
	Sent      OperationState = "sent"
	Accepted  OperationState = "accepted"
	Running   OperationState = "running"
	Succeeded OperationState = "succeeded"
	Failed    OperationState = "failed"
	Rejected  OperationState = "rejected"
	Cancelled OperationState = "cancelled"
	Expired   OperationState = "expired" // never sent; its time was up
	Unknown   OperationState = "unknown" // sent, outcome not known; it can still become any terminal state
)

// Terminal tells whether the state is the last one.
func (s OperationState) Terminal() bool {
	switch s {
	case Succeeded, Failed, Rejected, Cancelled, Expired:
		return true
	}
	return false
}

// Operation is the record of one command.
type Operation struct {
	OperationID string         `json:"operation_id"`
	EdgeID      string         `json:"edge_id"`
	Operation   string         `json:"operation"`
	NodeID      *string        `json:"node_id"`
	Parameters  map[string]any `json:"parameters"`
	Reason      *string        `json:"reason"`
	RequestedBy *string        `json:"requested_by"` // the operator; nil without auth
	RequestID   string         `json:"request_id"`   // X-Request-Id of the first request that asked for it; empty from an older server
	State       OperationState `json:"state"`

	CreatedAt   time.Time  `json:"created_at"`
	SentAt      *time.Time `json:"sent_at"`
	RespondedAt *time.Time `json:"responded_at"`
	FinishedAt  *time.Time `json:"finished_at"`

	Message       *string           `json:"message"`
	Result        map[string]any    `json:"result"`
	Events        []*OperationEvent `json:"events"` // the newest 64, oldest first
	EventsDropped uint64            `json:"events_dropped"`
}

// OperationEvent is one step of an operation.
type OperationEvent struct {
	Phase           string     `json:"phase"`
	Message         *string    `json:"message"`
	ProgressPercent *uint32    `json:"progress_percent"`
	OccurredAt      *time.Time `json:"occurred_at"` // the Edge's claim
	ReceivedAt      time.Time  `json:"received_at"`
}

// OperationQuery picks operations, newest first.
type OperationQuery struct {
	EdgeID string // empty: of all Edges
	State  OperationState
	Limit  int    // of a page, 1 to 1000; 0: 100
	Cursor string // a page's NextCursor
}

func (q OperationQuery) values() url.Values {
	v := values{}
	v.text("state", string(q.State))
	v.number("limit", q.Limit)
	v.text("cursor", q.Cursor)
	return url.Values(v)
}

// OperationPage is a page of operations.
type OperationPage struct {
	Operations []*Operation `json:"operations"`
	Dropped    uint64       `json:"dropped"`     // records that were dropped to make room
	NextCursor *string      `json:"next_cursor"` // nil on the last page
}

func (p *OperationPage) items() []*Operation { return p.Operations }
func (p *OperationPage) next() *string       { return p.NextCursor }

// Operation returns one record.
func (r *Repository) Operation(ctx context.Context, edgeID, operationID string) (*Operation, error) {
	path, err := edgePath(edgeID, "operations", operationID)
	if err != nil {
		return nil, err
	}
	return answer[Operation](ctx, r, request{path: path})
}

// Operations returns one page, of fewer than Limit if that many are too large for an answer.
func (r *Repository) Operations(ctx context.Context, q OperationQuery) (*OperationPage, error) {
	return r.operations(ctx, &q)
}

func (r *Repository) operations(ctx context.Context, q *OperationQuery) (*OperationPage, error) {
	path := "/fleet/operations"
	if q.EdgeID != "" {
		var err error
		if path, err = edgePath(q.EdgeID, "operations"); err != nil {
			return nil, err
		}
	}
	return pageOf[OperationPage](ctx, r, &q.Limit, func() request { return request{path: path, query: q.values()} })
}

// AllOperations yields all records from the query's page on, newest first. After an error it ends.
func (r *Repository) AllOperations(ctx context.Context, q OperationQuery) iter.Seq2[*Operation, error] {
	return all(ctx, q.Cursor, func(ctx context.Context, cursor string) (*OperationPage, error) {
		q.Cursor = cursor
		return r.operations(ctx, &q)
	})
}

const (
	firstLook = 100 * time.Millisecond
	lastLook  = time.Second
)

// WatchQuery says which operation to watch.
type WatchQuery struct {
	EdgeID, OperationID string
	// Changed, if set, is called with the cause and the time until the next attempt when the Control Plane gives no answer, and with
	// nil when it does again.
	Changed func(err error, retryIn time.Duration)
}

// Watch yields an operation as it is, then again whenever it has changed, until it is terminal. A Control Plane that gives no answer is
// asked again until the context ends. An Unknown operation can stay so for long: the context limits the wait. It ends after an error: the
// context's, or a refusal that doesn't go away by itself.
func (r *Repository) Watch(ctx context.Context, q WatchQuery) iter.Seq2[*Operation, error] {
	q.Changed = orIgnore(q.Changed)
	return func(yield func(*Operation, error) bool) {
		var told *Operation
		for wait := firstLook; ; wait = min(wait*3/2, lastLook) {
			o, err := r.lookUntilAnswered(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			if told == nil || changed(told, o) {
				if told, wait = o, firstLook; !yield(o, nil) {
					return
				}
			}
			if o.State.Terminal() {
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// lookUntilAnswered gives the record, or why it can't be had however often it is asked for.
func (r *Repository) lookUntilAnswered(ctx context.Context, q WatchQuery) (*Operation, error) {
	wait := r.streamBackoff()
	for lost := false; ; lost = true {
		o, err := r.Operation(ctx, q.EdgeID, q.OperationID)
		switch {
		case err == nil && lost:
			q.Changed(nil, 0)
			return o, nil
		case err == nil || ctx.Err() != nil || isFinal(err):
			return o, err
		}
		pause := max(wait.Next(), askedToWait(err))
		q.Changed(err, pause)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// changed tells two looks at one record apart by what only grows.
func changed(a, b *Operation) bool {
	return a.State != b.State || a.EventsDropped+uint64(len(a.Events)) != b.EventsDropped+uint64(len(b.Events))
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
