package agent

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire/backoff"
)

func TestWaits(t *testing.T) {
	const initial, most = time.Second, 8 * time.Second
	for name, tt := range map[string]struct {
		end         ending
		least, most time.Duration
	}{
		"lost":                          {ending{}, initial, 2 * initial},
		"hopeless":                      {ending{hopeless: true}, most, most},
		"asked to wait":                 {ending{after: time.Minute}, time.Minute, time.Minute},
		"asked to wait less than it is": {ending{hopeless: true, after: time.Second}, most, most},
	} {
		for range 100 {
			if w := tt.end.wait(backoff.New(initial, most)); w < tt.least || w > tt.most {
				t.Errorf("%s: %v", name, w)
			}
		}
	}
	b := backoff.New(initial, most)
	for range 10 {
		ending{}.wait(b)
	}
	if w := (ending{held: most}).wait(b); w > 2*initial {
		t.Errorf("after a connection that held: %v", w)
	}
}

func TestJudgeHello(t *testing.T) {
	welcome := func(r *iopv1.NodeHelloResponse) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{ReplyTo: helloID, Body: &iopv1.NodeEnvelope_NodeHelloResponse{NodeHelloResponse: r}}
	}
	said := func(c iopv1.ErrorCode) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{ReplyTo: helloID, Body: &iopv1.NodeEnvelope_Error{Error: &iopv1.Error{Code: c, Message: "no"}}}
	}
	goAway := func(r iopv1.GoAwayReason, after time.Duration) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_GoAway{GoAway: &iopv1.GoAway{Reason: r, ReconnectAfter: durationpb.New(after)}}}
	}
	other := welcome(&iopv1.NodeHelloResponse{})
	other.ReplyTo = 2
	for name, tt := range map[string]struct {
		answer *iopv1.NodeEnvelope
		why    string // has this; empty: welcome
		end    ending // but for why
	}{
		"welcome":           {welcome(&iopv1.NodeHelloResponse{ProtocolVersion: 1}), "", ending{}},
		"for another hello": {other, "another", ending{}},
		"a later version":   {welcome(&iopv1.NodeHelloResponse{ProtocolVersion: 2}), "version 2", ending{hopeless: true}},
		"a wrong token":     {said(iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED), "unauthenticated", ending{hopeless: true}},
		"no such node":      {said(iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED), "permission_denied", ending{hopeless: true}},
		"a bad hello":       {said(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT), "invalid_argument", ending{hopeless: true}},
		"not now":           {said(iopv1.ErrorCode_ERROR_CODE_UNAVAILABLE), "unavailable", ending{}},
		"superseded":        {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED, 0), "twice", ending{hopeless: true}},
		"stopping":          {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, time.Minute), "shutdown", ending{after: time.Minute}},
		"a mistaken number": {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, 1000*time.Hour), "shutdown", ending{after: time.Hour}},
		"nothing":           {&iopv1.NodeEnvelope{}, "no answer", ending{}},
	} {
		r, end := judgeHello(tt.answer)
		if (r != nil) != (tt.why == "") || !strings.Contains(end.why, tt.why) {
			t.Errorf("%s: %v, %+v", name, r, end)
		}
		end.why = ""
		if end != tt.end {
			t.Errorf("%s: %+v, want %+v", name, end, tt.end)
		}
	}
}
