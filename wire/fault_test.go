package wire

import (
	"testing"

	iopv1 "iop/proto/iop/v1"
)

func TestFaultEnvelope(t *testing.T) {
	for code, want := range map[Code]iopv1.ErrorCode{
		InvalidRequest:     iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT,
		Unauthenticated:    iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED,
		PermissionDenied:   iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
		FailedPrecondition: iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION,
		ResourceExhausted:  iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED,
		Unimplemented:      iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED,
		ShuttingDown:       iopv1.ErrorCode_ERROR_CODE_UNAVAILABLE,
		EdgeTimeout:        iopv1.ErrorCode_ERROR_CODE_DEADLINE_EXCEEDED,
		Internal:           iopv1.ErrorCode_ERROR_CODE_INTERNAL,
		EdgeNotFound:       iopv1.ErrorCode_ERROR_CODE_INTERNAL, // HTTP's alone
	} {
		e := (&Fault{Code: code, Message: "why"}).Envelope(3)
		if got := e.GetError(); got.GetCode() != want || got.GetMessage() != "why" || e.ReplyTo != 3 || e.Id != 0 {
			t.Errorf("%s became %v", code, e)
		}
	}
}

func TestFaultOf(t *testing.T) {
	for number := range iopv1.ErrorCode_name {
		said := &iopv1.Error{Code: iopv1.ErrorCode(number), Message: "why"}
		again := FaultOf(said).Envelope(0).GetError()
		if said.Code == iopv1.ErrorCode_ERROR_CODE_UNSPECIFIED {
			said.Code = iopv1.ErrorCode_ERROR_CODE_INTERNAL
		}
		if again.Code != said.Code || again.Message != "why" {
			t.Errorf("%v became %v", said, again)
		}
	}
	if f := FaultOf(&iopv1.Error{Code: 99}); f.Code != Internal {
		t.Errorf("a code to come is %v", f.Code)
	}
}
