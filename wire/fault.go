package wire

import iopv1 "iop/proto/iop/v1"

// Code is the stable part of a fault. One vocabulary crosses the wire, the actors and HTTP.
type Code string

const (
	InvalidRequest       Code = "invalid_request"
	Unauthenticated      Code = "unauthenticated"
	PermissionDenied     Code = "permission_denied"
	FailedPrecondition   Code = "failed_precondition" // wire only
	ResourceExhausted    Code = "resource_exhausted"  // wire only
	Unimplemented        Code = "unimplemented"       // wire only
	NotFound             Code = "not_found"
	EdgeNotFound         Code = "edge_not_found"
	OperationNotFound    Code = "operation_not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	IdempotencyConflict  Code = "idempotency_conflict"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	OperationUnsupported Code = "operation_unsupported"
	EdgeBusy             Code = "edge_busy"
	EdgeError            Code = "edge_error"
	EdgeDisconnected     Code = "edge_disconnected"
	EdgeTimeout          Code = "edge_timeout"
	ShuttingDown         Code = "shutting_down"
	Internal             Code = "internal"
)

// Fault is a code and a sentence that cross a border: the wire's Error, HTTP's problem. The sentence is for
// people and holds no Go error text, address, token or actor id.
type Fault struct {
	Code    Code
	Message string
}

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// Invalid is the fault of a message that breaks a rule of form.
func Invalid(sentence string) *Fault { return &Fault{Code: InvalidRequest, Message: sentence} }

var wireCodes = map[Code]iopv1.ErrorCode{
	InvalidRequest:     iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT,
	Unauthenticated:    iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED,
	PermissionDenied:   iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
	FailedPrecondition: iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION,
	ResourceExhausted:  iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED,
	Unimplemented:      iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED,
	ShuttingDown:       iopv1.ErrorCode_ERROR_CODE_UNAVAILABLE,
	EdgeTimeout:        iopv1.ErrorCode_ERROR_CODE_DEADLINE_EXCEEDED,
}

var faultCodes = func() map[iopv1.ErrorCode]Code {
	codes := make(map[iopv1.ErrorCode]Code, len(wireCodes))
	for code, onWire := range wireCodes {
		codes[onWire] = code
	}
	return codes
}()

// FaultOf is the fault that an Error of the other side tells. A code that isn't known here is Internal.
func FaultOf(e *iopv1.Error) *Fault {
	code, ok := faultCodes[e.Code]
	if !ok {
		code = Internal
	}
	return &Fault{Code: code, Message: e.Message}
}

// Envelope is the fault as the answer to a request; replyTo 0 when none is answered.
func (f *Fault) Envelope(replyTo uint64) *iopv1.Envelope {
	code, ok := wireCodes[f.Code]
	if !ok {
		code = iopv1.ErrorCode_ERROR_CODE_INTERNAL
	}
	return &iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: code, Message: f.Message}}}
}
