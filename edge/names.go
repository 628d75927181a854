package edge

import (
	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
)

func errorName(c iopv1.ErrorCode) string { return text.Name(c, "ERROR_CODE_") }

func outcomeName(o iopv1.CommandOutcome) string { return text.Name(o, "COMMAND_OUTCOME_") }
