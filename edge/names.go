package edge

import (
	"strings"

	iopv1 "iop/proto/iop/v1"
)

// Names of the protocol's enums for people: the enum's own prefix taken off, in small letters.

func errorName(c iopv1.ErrorCode) string { return name(c.String(), "ERROR_CODE_") }

func goAwayName(r iopv1.GoAwayReason) string { return name(r.String(), "GO_AWAY_REASON_") }

func outcomeName(o iopv1.CommandOutcome) string { return name(o.String(), "COMMAND_OUTCOME_") }

func name(s, prefix string) string { return strings.ToLower(strings.TrimPrefix(s, prefix)) }
