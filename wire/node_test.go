package wire

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// What is encoded as an Envelope without knowing the wire (a Pong, a Fault, a GoAway) must say the same on the Node wire.
func TestWhatBothWiresShareIsEncodedAlike(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 5, time.UTC)
	sent := timestamppb.New(now.Add(-time.Second))
	pong, err := DecodeNode(AppendPong(nil, 7, sent, now, 15*time.Second)[HeaderBytes:])
	if err != nil || pong.ReplyTo != 7 || !proto.Equal(pong.GetPong().GetSentAt(), sent) || pong.GetPong().HeartbeatInterval.AsDuration() != 15*time.Second {
		t.Errorf("a Pong is %v, %v", pong, err)
	}
	ping := &iopv1.Ping{SentAt: sent}
	for _, pair := range []struct {
		edge *iopv1.Envelope
		node *iopv1.NodeEnvelope
	}{
		{(&Fault{Code: Unauthenticated, Message: "no"}).Envelope(3), &iopv1.NodeEnvelope{ReplyTo: 3, Body: &iopv1.NodeEnvelope_Error{
			Error: &iopv1.Error{Code: iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED, Message: "no"}}}},
		{&iopv1.Envelope{Id: 9, Body: &iopv1.Envelope_Ping{Ping: ping}}, &iopv1.NodeEnvelope{Id: 9, Body: &iopv1.NodeEnvelope_Ping{Ping: ping}}},
		{&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Message: "x"}}}, &iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_GoAway{GoAway: &iopv1.GoAway{Message: "x"}}}},
	} {
		a, errA := AppendFrame(nil, pair.edge)
		b, errB := AppendFrame(nil, pair.node)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%v is %x on one wire and %x on the other", pair.edge, a, b)
		}
	}
}

func TestDecodeNode(t *testing.T) {
	ready := &iopv1.NodeReady{}
	for range 20_000 {
		ready.Providers = append(ready.Providers, &iopv1.EdgeProviderSnapshot{})
	}
	whole := &iopv1.NodeEnvelope{Id: 1, Body: &iopv1.NodeEnvelope_NodeReady{NodeReady: ready}}
	frame, err := AppendFrame(nil, whole)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeNode(frame[HeaderBytes:]); err != nil || !proto.Equal(got, whole) {
		t.Errorf("decoded with %v", err)
	}
	for range 300_000 {
		ready.Providers = append(ready.Providers, &iopv1.EdgeProviderSnapshot{})
	}
	if frame, err = AppendFrame(nil, whole); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"it unfolds too far": frame[HeaderBytes:], "it is cut": frame[HeaderBytes:100]} {
		if got, err := DecodeNode(bad); got != nil || !errors.Is(err, ErrUndecodable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
