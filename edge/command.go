package edge

import (
	"context"
	"errors"
	"time"
)

// Operation runs one command, in a goroutine of its own, and gives its result: a map of what JSON knows (nil, bool,
// float64 and other numbers, string, []any, map[string]any), or nil.
//
// It ends by itself, or when ctx does, which is when the Edge stops, or when it lasts and 32 others do already. Nothing else
// ends it: the Control Plane only waits for its first answer. One that is done soon is the answer; one that goes on, or reports progress, is answered as
// accepted, and its end travels as an event.
//
// An error makes the command failed. Its text stays in the Edge's log unless it was made by Rejected or Failed, whose
// sentences are told to whoever asked. context.Canceled makes the command cancelled. A panic makes it failed.
type Operation func(ctx context.Context, c *Command) (map[string]any, error)

// Command is what an Operation is asked to do.
type Command struct {
	// ID is the command's own, unique over the fleet.
	ID string
	// Operation is the name it was called by.
	Operation string
	// NodeID is the node that it is about; empty: the Edge.
	NodeID string
	// Parameters are the operation's to check: whatever JSON can say, numbers as float64. Never nil.
	Parameters map[string]any
	// RequestedBy is who asked, as the Control Plane tells; may be empty.
	RequestedBy string
	// RequestID is the X-Request-Id of the HTTP request that asked, for logs; empty from a Control Plane that doesn't tell.
	RequestID string

	// progress is the runner's; nil in a Command that an operation's test made.
	progress     func(percent int, message string)
	lastProgress time.Time // the operation's goroutine's alone
}

// progressGap is the least time between two progress events of a command; faster ones are left out, so that a tight
// loop doesn't flood the connection.
const progressGap = 200 * time.Millisecond

// Progress tells how far the command is, in percent and a sentence. It is for the operation's own goroutine.
func (c *Command) Progress(percent int, message string) {
	now := time.Now()
	if c.progress == nil {
		return // a Command that a test made
	}
	if !c.lastProgress.IsZero() && now.Sub(c.lastProgress) < progressGap && percent < 100 {
		return
	}
	c.lastProgress = now
	c.progress(min(max(percent, 0), 100), message)
}

// Rejected is the error of an operation that refuses a command before it did anything. After progress was reported, it
// counts as Failed.
func Rejected(sentence string) error { return &said{rejected: true, sentence: sentence} }

// Failed is the error of an operation that failed for a reason that may be told: no address, no token, no other
// program's error text.
func Failed(sentence string) error { return &said{sentence: sentence} }

// said is an error whose text may leave the Edge.
type said struct {
	rejected bool
	sentence string
}

func (s *said) Error() string { return s.sentence }

var errPanicked = errors.New("the operation panicked")
