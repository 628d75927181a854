package dial

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	iopv1 "iop/proto/iop/v1"
)

func TestJudge(t *testing.T) {
	p, now := Peer{Name: "The Edge", Self: "this node"}, time.Now()
	welcome := func(r *iopv1.NodeHelloResponse) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{ReplyTo: HelloID, Body: &iopv1.NodeEnvelope_NodeHelloResponse{NodeHelloResponse: r}}
	}
	said := func(c iopv1.ErrorCode) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{ReplyTo: HelloID, Body: &iopv1.NodeEnvelope_Error{Error: &iopv1.Error{Code: c, Message: "no"}}}
	}
	goAway := func(r iopv1.GoAwayReason, after time.Duration) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_GoAway{GoAway: &iopv1.GoAway{Reason: r, ReconnectAfter: durationpb.New(after)}}}
	}
	other := welcome(&iopv1.NodeHelloResponse{})
	other.ReplyTo = 2
	for name, tt := range map[string]struct {
		answer *iopv1.NodeEnvelope
		why    string // has this; empty: welcome
		end    Ending // but for why
	}{
		"welcome":           {welcome(&iopv1.NodeHelloResponse{ProtocolVersion: 1}), "", Ending{}},
		"for another hello": {other, "another", Ending{}},
		"a later version":   {welcome(&iopv1.NodeHelloResponse{ProtocolVersion: 2}), "version 2", Ending{Hopeless: true}},
		"a wrong token":     {said(iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED), "unauthenticated", Ending{Hopeless: true}},
		"no such node":      {said(iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED), "permission_denied", Ending{Hopeless: true}},
		"a bad hello":       {said(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT), "invalid_argument", Ending{Hopeless: true}},
		"not now":           {said(iopv1.ErrorCode_ERROR_CODE_UNAVAILABLE), "unavailable", Ending{}},
		"superseded":        {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED, 0), "twice", Ending{}},
		"removed":           {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_REMOVED, 0), "removed", Ending{Hopeless: true}},
		"stopping":          {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, time.Minute), "shutdown", Ending{NotBefore: now.Add(time.Minute)}},
		"a mistaken number": {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, 1000*time.Hour), "shutdown", Ending{NotBefore: now.Add(time.Hour)}},
		"nothing":           {&iopv1.NodeEnvelope{}, "no answer", Ending{}},
	} {
		r := tt.answer.GetNodeHelloResponse()
		end := p.Judge(tt.answer, r != nil, r.GetProtocolVersion(), now)
		if end == nil {
			if tt.why != "" {
				t.Errorf("%s is a welcome", name)
			}
			continue
		}
		if tt.why == "" || !strings.Contains(end.Why, tt.why) {
			t.Errorf("%s: %s", name, end.Why)
		}
		end.Why = ""
		if *end != tt.end {
			t.Errorf("%s: %+v, want %+v", name, end, tt.end)
		}
	}
}
