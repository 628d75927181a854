package edge

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	iopv1 "iop/proto/iop/v1"
)

// An answer for which there is no room has whole outcomes or none of them; only the outcome that was asked for alone goes without its
// result.
func TestWhatFits(t *testing.T) {
	outcome := func(id string, resultBytes int) *iopv1.EdgeCommandResponse {
		result, _ := structpb.NewStruct(map[string]any{"log": string(make([]byte, resultBytes))})
		return &iopv1.EdgeCommandResponse{CommandId: id, Outcome: iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, Result: result}
	}
	large, small := outcome("large", 800), outcome("small", 100)
	unknown := make([]string, 50)
	for i := range unknown {
		unknown[i] = "an id of some twenty bytes"
	}
	type answer = iopv1.EdgeCommandQueryResponse
	for name, c := range map[string]struct{ all, want *answer }{
		"nothing":            {&answer{}, &answer{}},
		"all":                {&answer{Responses: []*iopv1.EdgeCommandResponse{small, large}, UnknownCommandIds: unknown[:1]}, &answer{Responses: []*iopv1.EdgeCommandResponse{small, large}, UnknownCommandIds: unknown[:1]}},
		"the first":          {&answer{Responses: []*iopv1.EdgeCommandResponse{small, large, large}, UnknownCommandIds: unknown[:1]}, &answer{Responses: []*iopv1.EdgeCommandResponse{small, large}, UnknownCommandIds: unknown[:1]}},
		"none of several":    {&answer{Responses: []*iopv1.EdgeCommandResponse{outcome("vast", 2000), small}}, &answer{}},
		"one that is alone":  {&answer{Responses: []*iopv1.EdgeCommandResponse{outcome("vast", 2000)}}, &answer{Responses: []*iopv1.EdgeCommandResponse{withoutResult(outcome("vast", 2000))}}},
		"not even the names": {&answer{UnknownCommandIds: unknown}, nil},
	} {
		got := whatFits(c.all, func(r *answer) bool { return proto.Size(r) <= 1100 })
		if (got == nil) != (c.want == nil) || !proto.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
