package edge

import (
	"context"
	"errors"
	"runtime/debug"

	"google.golang.org/protobuf/types/known/structpb"

	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
)

// call runs an operation and makes an answer of whatever comes of it.
func (c *commands) call(ctx context.Context, cmd *Command) *iopv1.EdgeCommandResponse {
	result, err := c.callSafely(ctx, cmd)
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errCrowded) {
		err = errCrowded
	}
	response := &iopv1.EdgeCommandResponse{CommandId: cmd.ID, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED}
	if result != nil {
		s, encodeErr := structpb.NewStruct(result)
		if encodeErr != nil && err == nil {
			err = encodeErr
		}
		response.Result = s
	}
	if err == nil {
		return response
	}
	response.Outcome, response.Message = c.verdict(err)
	if response.Outcome == iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED {
		c.log.Warn("A command failed.", "command_id", cmd.ID, "operation", cmd.Operation, "error", err)
	}
	return response
}

// callSafely turns a panic into an error.
func (c *commands) callSafely(ctx context.Context, cmd *Command) (result map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("An operation panicked.", "command_id", cmd.ID, "operation", cmd.Operation, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, errPanicked
		}
	}()
	return c.operations[cmd.Operation](ctx, cmd)
}

// verdict is the outcome and the sentence that an error means. Only sentences that were made to be told are told.
func (c *commands) verdict(err error) (iopv1.CommandOutcome, string) {
	var public *publicError
	switch {
	case errors.As(err, &public) && public.rejected:
		return iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED, clip(public.sentence)
	case errors.As(err, &public):
		return iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, clip(public.sentence)
	case errors.Is(err, context.Canceled) && c.ctx.Err() != nil:
		return iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED, "The Edge stopped before the command was done."
	case errors.Is(err, context.Canceled):
		return iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED, "The command was cancelled."
	case errors.Is(err, context.DeadlineExceeded):
		return iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, "The command took too long."
	}
	return iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, failedSentence
}

const failedSentence = "The command failed; the Edge's log tells why."

func parametersOf(req *iopv1.EdgeCommandRequest) map[string]any {
	if req.Parameters == nil {
		return map[string]any{}
	}
	return req.Parameters.AsMap()
}

func failedResponse(id string) *iopv1.EdgeCommandResponse {
	return &iopv1.EdgeCommandResponse{CommandId: id, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, Message: failedSentence}
}

func rejectedResponse(id, why string) *iopv1.EdgeCommandResponse {
	return &iopv1.EdgeCommandResponse{CommandId: id, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED, Message: why}
}

func acceptedResponse(id string) *iopv1.EdgeCommandResponse {
	return &iopv1.EdgeCommandResponse{CommandId: id, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED}
}

func phaseOf(o iopv1.CommandOutcome) iopv1.CommandPhase {
	switch o {
	case iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED:
		return iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED
	case iopv1.CommandOutcome_COMMAND_OUTCOME_CANCELLED:
		return iopv1.CommandPhase_COMMAND_PHASE_CANCELLED
	}
	return iopv1.CommandPhase_COMMAND_PHASE_FAILED
}

func percentAtEnd(o iopv1.CommandOutcome) uint32 {
	if o == iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED {
		return 100
	}
	return 0
}

// clip makes a sentence fit to be sent.
func clip(s string) string { return text.Clip(s, maxMessageBytes) }
