package passthrough

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"iop/edge/lease"
)

// refusal is what the Edge itself says no with.
type refusal struct {
	status     int
	kind, code string
	message    string
	retryAfter int // seconds; 0: not said
}

// Kinds of errors, as OpenAI names them.
const (
	invalid     = "invalid_request_error"
	unavailable = "server_error"
)

var (
	errNoJSON     = &refusal{http.StatusBadRequest, invalid, "invalid_request", "The body must be a JSON object that names a model.", 0}
	errUnread     = &refusal{http.StatusBadRequest, invalid, "invalid_request", "The body could not be read.", 0}
	errTooLong    = &refusal{http.StatusBadRequest, invalid, "context_length_exceeded", "No provider of this model takes requests of this length.", 0}
	errKey        = &refusal{http.StatusUnauthorized, invalid, "invalid_api_key", "A token is needed: Authorization: Bearer <token>.", 0}
	errOrigin     = &refusal{http.StatusForbidden, invalid, "cross_origin", "Requests of pages of other sites aren't served.", 0}
	errHost       = &refusal{http.StatusForbidden, invalid, "cross_origin", "The Host is not a name of this machine's loopback address. Other names need a token.", 0}
	errModel      = &refusal{http.StatusNotFound, invalid, "model_not_found", "No provider serves this model.", 0}
	errPath       = &refusal{http.StatusNotFound, invalid, "unknown_url", "There is no such path or method here.", 0}
	errTooLarge   = &refusal{http.StatusRequestEntityTooLarge, invalid, "request_too_large", "The body is over 16 MiB.", 0}
	errFull       = &refusal{http.StatusTooManyRequests, "rate_limit_error", "queue_full", "All providers of this model are busy, and too many requests wait already.", 1}
	errFailed     = &refusal{http.StatusBadGateway, unavailable, "provider_failed", "The provider did not answer as it should.", 0}
	errNoProvider = &refusal{http.StatusServiceUnavailable, unavailable, "no_provider", "No provider of this model takes requests now.", 5}
	errNoCapacity = &refusal{http.StatusServiceUnavailable, unavailable, "queue_timeout", "No provider of this model had free capacity in time.", 5}
	errOverloaded = &refusal{http.StatusServiceUnavailable, unavailable, "overloaded", "The Edge holds too many requests already.", 1}
	errGone       = &refusal{http.StatusServiceUnavailable, unavailable, "provider_gone", "The provider went away.", 1}
	errCancelled  = &refusal{http.StatusServiceUnavailable, unavailable, "cancelled", "An operator cancelled the request.", 0}
	errRunTime    = &refusal{http.StatusGatewayTimeout, unavailable, "run_timeout", "The request ran for too long.", 0}
)

// refusalOf says why a request has no answer.
func refusalOf(err error) *refusal {
	for _, known := range []struct {
		err     error
		refusal *refusal
	}{
		{lease.ErrQueueFull, errFull}, {lease.ErrNoModel, errModel}, {lease.ErrTooLong, errTooLong}, {lease.ErrNoProvider, errNoProvider},
		{lease.ErrGone, errGone}, {lease.ErrCancelled, errCancelled}, {errWaited, errNoCapacity}, {context.DeadlineExceeded, errRunTime},
	} {
		if errors.Is(err, known.err) {
			return known.refusal
		}
	}
	return errFailed
}

func fail(w http.ResponseWriter, f *refusal) {
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.retryAfter))
	}
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	writeJSON(w, f.status, map[string]object{"error": {Message: f.message, Type: f.kind, Code: f.code}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever hung up doesn't read it
}
