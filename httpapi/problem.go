package httpapi

import (
	"net/http"
	"strconv"

	"iop/actors"
	"iop/wire"
)

const problemType = "application/problem+json"

// statuses says which status each code is answered with. A code that isn't here belongs only to the wire.
var statuses = map[wire.Code]int{
	wire.InvalidRequest:       http.StatusBadRequest,
	wire.Unauthenticated:      http.StatusUnauthorized,
	wire.PermissionDenied:     http.StatusForbidden,
	wire.NotFound:             http.StatusNotFound,
	wire.EdgeNotFound:         http.StatusNotFound,
	wire.OperationNotFound:    http.StatusNotFound,
	wire.MethodNotAllowed:     http.StatusMethodNotAllowed,
	wire.IdempotencyConflict:  http.StatusConflict,
	wire.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	wire.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	wire.OperationUnsupported: http.StatusUnprocessableEntity,
	wire.EdgeBusy:             http.StatusTooManyRequests,
	wire.EdgeError:            http.StatusBadGateway,
	wire.EdgeDisconnected:     http.StatusServiceUnavailable,
	wire.ShuttingDown:         http.StatusServiceUnavailable,
	wire.EdgeTimeout:          http.StatusGatewayTimeout,
	wire.Internal:             http.StatusInternalServerError,
}

// problem is a fault on its way to the caller, with the members that its code adds.
type problem struct {
	*wire.Fault
	allow     string            // method_not_allowed: the methods that are
	edgeError string            // edge_error: the Edge's code without its prefix; empty for nonsense
	edge      *actors.View      // edge_disconnected: since when and why; nil where that isn't known
	operation *actors.Operation // the record that goes on without its caller
}

// refuse makes a problem of a code and a sentence.
func refuse(code wire.Code, sentence string) *problem {
	return &problem{Fault: &wire.Fault{Code: code, Message: sentence}}
}

// invalid makes the problem of a bad parameter, header or member, and names it.
func invalid(field, sentence string) *problem {
	return refuse(wire.InvalidRequest, field+": "+sentence)
}

// asProblem is a fault without further members; nil stays nil.
func asProblem(f *wire.Fault) *problem {
	if f == nil {
		return nil
	}
	return &problem{Fault: f}
}

func (p *problem) status() int {
	if status, ok := statuses[p.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// fail answers with a problem.
func (c *call) fail(p *problem) {
	h := c.Header()
	switch p.Code {
	case wire.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case wire.MethodNotAllowed:
		h.Set("Allow", p.allow)
	case wire.EdgeBusy:
		h.Set("Retry-After", "1") // an Edge's unanswered requests are answered or time out within seconds
	}
	c.renderAs(p.status(), problemType, func(b []byte) []byte { return appendProblem(b, p, c.id) })
}

func appendProblem(b []byte, p *problem, requestID string) []byte {
	status, code := p.status(), p.Code
	if status == http.StatusInternalServerError {
		code = wire.Internal
	}
	b = append(b, `{"type":"about:blank","title":`...)
	b = appendString(b, http.StatusText(status))
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"detail":`...)
	b = appendString(b, p.Message)
	b = append(b, `,"code":`...)
	b = appendString(b, string(code))
	b = append(b, `,"request_id":`...)
	b = appendString(b, requestID)
	switch p.Code {
	case wire.EdgeError:
		b = append(b, `,"edge_error":`...)
		b = appendStringOrNull(b, p.edgeError)
	case wire.EdgeDisconnected:
		b = appendLastEnd(b, p.edge)
	}
	if p.operation != nil {
		b = append(b, `,"operation":`...)
		b = appendOperation(b, p.operation)
	}
	return append(b, '}')
}

// appendLastEnd says how a connection ended; nulls where no end is known.
func appendLastEnd(b []byte, v *actors.View) []byte {
	if v == nil {
		v = &actors.View{}
	}
	b = append(b, `,"disconnected_at":`...)
	b = appendTime(b, v.DisconnectedAt)
	b = append(b, `,"disconnect_reason":`...)
	return appendStringOrNull(b, string(v.DisconnectReason))
}
