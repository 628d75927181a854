package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"iop/wire"
)

// Code is the stable part of a Problem. It is an error so that errors.Is(err, client.EdgeNotFound) can test for it.
type Code string

const (
	InvalidRequest       = Code(wire.InvalidRequest)
	Unauthenticated      = Code(wire.Unauthenticated)
	PermissionDenied     = Code(wire.PermissionDenied)
	NotFound             = Code(wire.NotFound)
	EdgeNotFound         = Code(wire.EdgeNotFound)
	OperationNotFound    = Code(wire.OperationNotFound)
	MethodNotAllowed     = Code(wire.MethodNotAllowed)
	IdempotencyConflict  = Code(wire.IdempotencyConflict)
	PayloadTooLarge      = Code(wire.PayloadTooLarge)
	UnsupportedMediaType = Code(wire.UnsupportedMediaType)
	OperationUnsupported = Code(wire.OperationUnsupported)
	EdgeBusy             = Code(wire.EdgeBusy)
	EdgeError            = Code(wire.EdgeError)
	EdgeDisconnected     = Code(wire.EdgeDisconnected)
	EdgeTimeout          = Code(wire.EdgeTimeout)
	ShuttingDown         = Code(wire.ShuttingDown)
	Internal             = Code(wire.Internal)
)

func (c Code) Error() string { return string(c) }

// Problem is a refusal by the Control Plane, an RFC 9457 problem document.
type Problem struct {
	Code      Code   `json:"code"`
	Status    int    `json:"status"` // of HTTP
	Title     string `json:"title"`
	Detail    string `json:"detail"` // for people
	RequestID string `json:"request_id"`
	// RetryAfter is when to try again; 0 if the answer doesn't say.
	RetryAfter time.Duration `json:"-"`

	// EdgeError is the Edge's own code, such as INTERNAL, if Code is EdgeError; nil if the Edge answered nonsense.
	EdgeError *string `json:"edge_error"`
	// DisconnectedAt and DisconnectReason are those of the last connection, if Code is EdgeDisconnected; nil: not known.
	DisconnectedAt   *time.Time `json:"disconnected_at"`
	DisconnectReason *string    `json:"disconnect_reason"`
	// Operation is the record of a command that was sent although the call failed; nil if there is none.
	Operation *Operation `json:"operation"`
}

func (p *Problem) Error() string { return fmt.Sprintf("%s (%s)", p.Detail, p.Code) }

// Is makes errors.Is compare codes.
func (p *Problem) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == p.Code
}

// Unreachable is a call that got no complete answer.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string {
	switch {
	case errors.Is(u.Err, context.DeadlineExceeded):
		return "the Control Plane did not answer in time"
	case isDial(u.Err):
		return "the Control Plane can't be reached: " + u.Err.Error()
	}
	return "the connection to the Control Plane failed: " + u.Err.Error()
}

func (u *Unreachable) Unwrap() error { return u.Err }

// isDial tells that no connection was made, and so nothing was sent.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// Unexpected is an answer that no Control Plane gives.
type Unexpected struct {
	Status int    // of HTTP
	What   string // is wrong with it
}

// Gateway is true of an answer that a proxy gives for a server that it can't reach.
func (u *Unexpected) Gateway() bool {
	return u.Status == http.StatusBadGateway || u.Status == http.StatusServiceUnavailable || u.Status == http.StatusGatewayTimeout
}

func (u *Unexpected) Error() string {
	if u.Gateway() {
		return fmt.Sprintf("something in between (a proxy?) answers %d: the Control Plane behind it is probably down", u.Status)
	}
	return fmt.Sprintf("an answer with status %d that no Control Plane gives: %s", u.Status, u.What)
}

func unexpected(response *http.Response, what string) error {
	return &Unexpected{Status: response.StatusCode, What: what}
}

// TooLarge is an answer over the bound up to which answers are read.
type TooLarge struct{ Bound int64 } // in bytes

func (t *TooLarge) Error() string { return fmt.Sprintf("the answer is over %d MiB", t.Bound>>20) }

// Uncertain means that it isn't known whether the Control Plane received the command. Sending it again with Key won't run it twice,
// unless the Control Plane is restarted in between.
type Uncertain struct {
	Key string
	// Restarted: the Control Plane has been restarted and knows no earlier keys. If sent again, the command might run twice.
	Restarted bool
	Err       error
}

func (u *Uncertain) Error() string {
	if u.Restarted {
		return "the Control Plane was restarted while the command was on its way, which may have been sent"
	}
	return "the command may have been sent: " + u.Err.Error()
}

func (u *Uncertain) Unwrap() error { return u.Err }

// retryAfter reads the one form of the header that a Control Plane uses: seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
