package edge

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
	"iop/wire/backoff"
)

// FuzzControlPlane has a Control Plane send anything after the hello. Whatever it is, the Edge answers or ends the
// connection, and nothing panics or hangs.
func FuzzControlPlane(f *testing.F) {
	add := func(messages ...*iopv1.Envelope) {
		var all []byte
		for _, e := range messages {
			var err error
			if all, err = wire.AppendFrame(all, e); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(all)
	}
	command := &iopv1.EdgeCommandRequest{CommandId: "c", Operation: "edge.ping", Timeout: durationpb.New(-1), ExpiresAt: timestamppb.Now()}
	odd := &iopv1.EdgeCommandRequest{CommandId: "e", Operation: "edge.ping", Parameters: &structpb.Struct{Fields: map[string]*structpb.Value{"x": nil}}}
	add(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: command}},
		&iopv1.Envelope{Id: 3, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: odd}},
		&iopv1.Envelope{Id: 2, Body: &iopv1.Envelope_EdgeCommandQueryRequest{EdgeCommandQueryRequest: &iopv1.EdgeCommandQueryRequest{CommandIds: []string{"c", "d", ""}}}})
	add(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeStatusRequest{}},
		&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: &timestamppb.Timestamp{Seconds: -1, Nanos: -1}}}})
	add(&iopv1.Envelope{ReplyTo: 1, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{HeartbeatInterval: &durationpb.Duration{Seconds: 1 << 62}, ServerTime: &timestamppb.Timestamp{Seconds: 1 << 62}}}},
		goAway(99, 1<<62), errorEnvelope(77, "x"))
	f.Add([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})

	e, err := New(Options{ID: "fuzz", Address: "control-plane.test:1", Site: newFakeSite(node("n", true, provider("p", Online, 1))), Logger: quietLog})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		ours, theirs := net.Pipe()
		go func() {
			_ = ours.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = ours.Write(sent)
			_ = ours.Close()
		}()
		go drain(ours)
		c := newConnection(theirs, wire.NewFrameReader(theirs, wire.MaxHelloBytes), &iopv1.EdgeHelloResponse{}, time.Now(), quietLog)
		served := make(chan dial.Ending, 1)
		go func() { served <- e.serve(context.Background(), c) }()
		select {
		case <-served:
		case <-time.After(20 * time.Second):
			t.Fatal("the connection never ends")
		}
	})
}

func drain(c net.Conn) {
	buf := make([]byte, 4096)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

func FuzzHelloAnswer(f *testing.F) {
	f.Add([]byte{0x10, 1})
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := wire.Decode(payload)
		if err != nil {
			return
		}
		now := time.Now()
		r, end := judgeHello(e, now)
		if (r == nil) == (end == nil) {
			t.Fatalf("a hello is answered %v and ended %v", r, end)
		}
		if end != nil {
			if w := end.Wait(backoff.New(time.Second, 30*time.Second), now); w < time.Second || w > wire.MostReconnectAfter {
				t.Errorf("waits %v", w)
			}
		}
	})
}
