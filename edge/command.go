package edge

import (
	"context"
	"errors"
	"time"
)

// Operation runs one command, in its own goroutine, and returns its result: nil, or a map of JSON values (nil, bool,
// float64 and other numbers, string, []any, map[string]any).
//
// It ends by itself or when ctx ends. ctx ends when the Edge stops, or when 32 other commands already run on and this one
// would too. Nothing else ends it: the Control Plane only waits for its first answer. If it is done soon, its result is that answer;
// if it goes on, or reports progress, the answer is that it is accepted, and its end is sent as an event.
//
// An error makes the command failed. Its text stays in the Edge's log unless it was made by Rejected or Failed, whose
// sentences are sent to whoever asked. context.Canceled makes the command cancelled. A panic makes it failed.
type Operation func(ctx context.Context, c *Command) (map[string]any, error)

// Command is what an Operation is asked to do.
type Command struct {
	// ID is the command's id, unique in the fleet.
	ID string
	// Operation is the name it was called by.
	Operation string
	// NodeID is the node that it is for; empty: the Edge.
	NodeID string
	// Parameters are JSON values, numbers as float64; the operation has to check them. Never nil.
	Parameters map[string]any
	// RequestedBy is who asked, according to the Control Plane; may be empty.
	RequestedBy string
	// RequestID is the X-Request-Id of the HTTP request that asked, for logs; empty if the Control Plane doesn't send it.
	RequestID string

	// progress is the runner's; nil in a Command that an operation's test made.
	progress     func(percent int, message string)
	lastProgress time.Time // the operation's goroutine's alone
}

// progressGap is the least time between two progress events of a command; faster ones are left out, so that a tight
// loop doesn't flood the connection.
const progressGap = 200 * time.Millisecond

// Progress reports how far the command is, in percent and a sentence. Only the operation's own goroutine may call it.
func (c *Command) Progress(percent int, message string) {
	now := time.Now()
	if c.progress == nil {
		return
	}
	if !c.lastProgress.IsZero() && now.Sub(c.lastProgress) < progressGap && percent < 100 {
		return
	}
	c.lastProgress = now
	c.progress(min(max(percent, 0), 100), message)
}

// Rejected is the error of an operation that refuses a command before it did anything. After progress was reported, it
// counts as Failed.
func Rejected(sentence string) error { return &publicError{rejected: true, sentence: sentence} }

// Failed is the error of an operation that failed for a reason that may be told: no address, no token, no other
// program's error text.
func Failed(sentence string) error { return &publicError{sentence: sentence} }

// publicError is an error whose text may leave the Edge.
type publicError struct {
	rejected bool
	sentence string
}

func (p *publicError) Error() string { return p.sentence }

var errPanicked = errors.New("the operation panicked")
