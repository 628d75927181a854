package agent

import (
	"strings"
	"testing"
	"time"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
)

// What other answers mean is ending's to test.
func TestJudgeHello(t *testing.T) {
	answer := &iopv1.NodeEnvelope{ReplyTo: dial.HelloID, Body: &iopv1.NodeEnvelope_NodeHelloResponse{NodeHelloResponse: &iopv1.NodeHelloResponse{EdgeId: "e", ProtocolVersion: 1}}}
	if r, end := judgeHello(answer, time.Now()); end != nil || r.GetEdgeId() != "e" {
		t.Errorf("a welcome is %v, %+v", r, end)
	}
	answer.GetNodeHelloResponse().ProtocolVersion = 2
	if r, end := judgeHello(answer, time.Now()); r != nil || end == nil || !strings.HasPrefix(end.Why, "The Edge speaks version 2") {
		t.Errorf("a later version is %v, %+v", r, end)
	}
	if r, end := judgeHello(&iopv1.NodeEnvelope{}, time.Now()); r != nil || end == nil {
		t.Errorf("nothing is %v, %+v", r, end)
	}
}
