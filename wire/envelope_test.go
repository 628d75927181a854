package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// statusAnswer is an Edge's answer with 4 nodes of 2 providers each.
func statusAnswer() *iopv1.Envelope {
	s := &iopv1.EdgeStatusResponse{EdgeId: "seoul-1", ObservedAt: timestamppb.New(time.Unix(1_700_000_000, 5))}
	for n := range 4 {
		node := &iopv1.EdgeNodeSnapshot{
			NodeId: fmt.Sprintf("gpu-%d", n), Name: "a machine", Connected: true,
			Labels: map[string]string{"zone": "a", "gpu": "h100"},
		}
		for p := range 2 {
			node.Providers = append(node.Providers, &iopv1.EdgeProviderSnapshot{
				ProviderId: fmt.Sprintf("vllm-%d", p), Type: "vllm", Models: []string{"llama-3.1-70b", "qwen-2.5-32b"},
				Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
				General:     &iopv1.ProviderCounters{Capacity: 8, InFlight: 3, Queued: 1},
				LongContext: &iopv1.ProviderCounters{Capacity: 2},
			})
		}
		s.Nodes = append(s.Nodes, node)
	}
	return &iopv1.Envelope{ReplyTo: 77, Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: s}}
}

func commandWith(t testing.TB, parameters map[string]any) *iopv1.Envelope {
	t.Helper()
	s, err := structpb.NewStruct(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return &iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{Operation: "drain", Parameters: s}}}
}

func nested(levels int) any {
	var v any = "bottom"
	for range levels {
		v = map[string]any{"a": v}
	}
	return v
}

func mustFrame(t testing.TB, e *iopv1.Envelope) []byte {
	t.Helper()
	frame, err := AppendFrame(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestAppendFrameAndDecode(t *testing.T) {
	for _, e := range []*iopv1.Envelope{
		statusAnswer(),
		commandWith(t, map[string]any{"n": 1.5, "list": []any{nil, true, "x"}, "deep": nested(63)}),
		(&Fault{EdgeTimeout, "too late"}).Envelope(9),
	} {
		frame, err := AppendFrame([]byte("before"), e)
		if err != nil {
			t.Fatal(err)
		}
		payload, ok := strings.CutPrefix(string(frame), "before")
		if n := binary.BigEndian.Uint32([]byte(payload)); !ok || int(n) != len(payload)-HeaderBytes || int(n) != proto.Size(e) {
			t.Fatalf("header says %d, %d follow, the size is %d", n, len(payload)-HeaderBytes, proto.Size(e))
		}
		got, err := Decode([]byte(payload[HeaderBytes:]))
		if err != nil || !proto.Equal(got, e) {
			t.Errorf("got %v, %v; want %v", got, err, e)
		}
		if !Fits(e, proto.Size(e)) || Fits(e, proto.Size(e)-1) {
			t.Errorf("Fits doesn't go by the size %d", proto.Size(e))
		}
	}
}

func TestAppendFrameGivesBackWhatWasThere(t *testing.T) {
	bad := statusAnswer()
	bad.GetEdgeStatusResponse().Nodes[3].Name = "\xff"
	if b, err := AppendFrame([]byte("before"), bad); err == nil || string(b) != "before" {
		t.Errorf("got %q, %v; want what was there, and an error", b, err)
	}
	if Fits(bad, 1<<20) {
		t.Error("what can't be encoded fits")
	}
}

func TestDecode(t *testing.T) {
	empty := field(13, nil)
	tests := []struct {
		name  string
		frame []byte
		err   error
	}{
		{"no body", field(99, []byte("a newer message")), nil},
		{"an unknown field in a known body", field(13, field(99, []byte("x"))), nil},
		{"empty", nil, nil},
		{"not protobuf", []byte("GET / HTTP/1.1\r\n"), ErrUndecodable},
		{"cut short", empty[:1], ErrUndecodable},
		{"text that isn't UTF-8", field(13, field(1, []byte("\xff"))), ErrUndecodable},
		{"JSON of 64 levels", mustFrame(t, commandWith(t, map[string]any{"a": nested(63)}))[HeaderBytes:], nil},
		{"nests too deep", mustFrame(t, commandWith(t, map[string]any{"a": nested(100)}))[HeaderBytes:], ErrUndecodable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, err := Decode(test.frame)
			if err != test.err {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if err == nil && (len(e.ProtoReflect().GetUnknown()) > 0 || len(e.GetEdgeStatusResponse().ProtoReflect().GetUnknown()) > 0) {
				t.Error("keeps what it doesn't know")
			}
		})
	}
}

// TestDecodeDepthIsTheEstimates: nothing can hide from the estimate below the depth that it looks to.
func TestDecodeDepthIsTheEstimates(t *testing.T) {
	room := make([]byte, pathBytes, DefaultMaxFrameBytes)
	for len(room) < cap(room) {
		room = append(room, 1<<3|2, 0) // an empty value of a list
	}
	for levels := 75; levels < 95; levels++ {
		in := path{15, 4, 1, 2}
		for range levels {
			in = append(in, 5, 1, 2) // a value that is a struct with one field, whose value is
		}
		if _, err := Decode(append(in, 6).wrap(room)); err != ErrUndecodable {
			t.Errorf("half a million values below %d levels pass", levels)
		}
	}
}

func TestFitsMindsWhatTheReceiverUnfolds(t *testing.T) {
	objects := make([]any, 150_000)
	for i := range objects {
		objects[i] = map[string]any{}
	}
	e := commandWith(t, map[string]any{"a": objects})
	if proto.Size(e) > DefaultMaxFrameBytes {
		t.Fatalf("the frame is %d bytes, and too long anyhow", proto.Size(e))
	}
	if Fits(e, DefaultMaxFrameBytes) {
		t.Error("a frame that ends the receiver's connection fits")
	}
	if Fits(commandWith(t, map[string]any{"a": nested(100)}), DefaultMaxFrameBytes) {
		t.Error("a frame that nests too deep fits")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(mustFrame(f, statusAnswer())[HeaderBytes:])
	f.Add(mustFrame(f, commandWith(f, map[string]any{"n": 1.5, "list": []any{nil, true, "x", map[string]any{}}}))[HeaderBytes:])
	for _, h := range hostile {
		f.Add(h.in.wrap(append(append(make([]byte, pathBytes), h.element(0)...), h.element(1)...)))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		estimate := unfolded(frame, envelopeShape, maxDepth, 1<<40)
		e, err := Decode(frame)
		if err != nil {
			return
		}
		if holds := heldBytes(e.ProtoReflect()); holds > estimate {
			t.Errorf("holds %d bytes, estimated at %d", holds, estimate)
		}
		again, err := Decode(mustFrame(t, e)[HeaderBytes:])
		if err != nil || !proto.Equal(again, e) {
			t.Errorf("sent on, it is %v, %v; was %v", again, err, e)
		}
	})
}

// heldBytes counts what a message holds, by looking at it rather than at its frame.
func heldBytes(m protoreflect.Message) int {
	sum := structBytes(m.Descriptor())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.ContainingOneof() != nil {
			sum += 8
		}
		switch {
		case f.IsMap():
			sum += mapBytes
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				sum += 16 + len(k.String()) + heldValue(f.MapValue(), v)
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				sum += 8 + heldValue(f, v.List().Get(i))
			}
		default:
			sum += heldValue(f, v)
		}
		return true
	})
	return sum
}

func heldValue(f protoreflect.FieldDescriptor, v protoreflect.Value) int {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return heldBytes(v.Message())
	case protoreflect.StringKind:
		return len(v.String())
	default:
		return 0
	}
}

func pong(replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) *iopv1.Envelope {
	p := &iopv1.Pong{SentAt: sentAt, ServerTime: &timestamppb.Timestamp{Seconds: now.Unix(), Nanos: int32(now.Nanosecond())}}
	if interval != 0 {
		p.HeartbeatInterval = durationpb.New(interval)
	}
	return &iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_Pong{Pong: p}}
}

func checkPong(t *testing.T, replyTo uint64, sentAt *timestamppb.Timestamp, now time.Time, interval time.Duration) {
	t.Helper()
	frame := AppendPong([]byte("before"), replyTo, sentAt, now, interval)[len("before"):]
	want := pong(replyTo, sentAt, now, interval)
	if byHand, generated := string(frame), string(mustFrame(t, want)); byHand != generated {
		t.Fatalf("by hand %x\ngenerated %x", byHand, generated)
	}
	if got, err := Decode(frame[HeaderBytes:]); err != nil || !proto.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
}

func TestAppendPong(t *testing.T) {
	now := time.Unix(1_700_000_000, 123_456_789)
	for _, sentAt := range []*timestamppb.Timestamp{
		nil, {}, {Seconds: 1, Nanos: 2}, {Seconds: -1, Nanos: -1},
		{Seconds: math.MinInt64, Nanos: math.MinInt32}, {Seconds: math.MaxInt64, Nanos: math.MaxInt32},
	} {
		for _, at := range []time.Time{now, time.Unix(0, 0), time.Unix(-5, 1), {}} {
			for _, interval := range []time.Duration{0, 15 * time.Second, 1500 * time.Millisecond, -1500 * time.Millisecond, math.MinInt64} {
				for _, replyTo := range []uint64{0, 1, math.MaxUint64} {
					checkPong(t, replyTo, sentAt, at, interval)
				}
			}
		}
	}
}

func FuzzAppendPong(f *testing.F) {
	f.Add(uint64(1), true, int64(1_700_000_000), int32(5), int64(1_700_000_001), int64(6), int64(15*time.Second))
	f.Add(uint64(0), false, int64(0), int32(0), int64(0), int64(0), int64(0))
	f.Add(uint64(math.MaxUint64), true, int64(-1), int32(-1), int64(-1), int64(-1), int64(-1))
	f.Fuzz(func(t *testing.T, replyTo uint64, sent bool, seconds int64, nanos int32, nowSeconds, nowNanos, interval int64) {
		var sentAt *timestamppb.Timestamp
		if sent {
			sentAt = &timestamppb.Timestamp{Seconds: seconds, Nanos: nanos}
		}
		checkPong(t, replyTo, sentAt, time.Unix(nowSeconds, nowNanos), time.Duration(interval))
	})
}

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("counted without the race detector")
	}
	status := statusAnswer()
	frame := mustFrame(t, status)
	room := make([]byte, 0, 2*len(frame))
	sentAt, now := timestamppb.New(time.Unix(5, 6)), time.Unix(7, 8)
	ping := mustFrame(t, &iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: sentAt}}})
	tests := []struct {
		name string
		most float64
		do   func()
	}{
		{"a Pong", 0, func() { AppendPong(room, 1, sentAt, now, time.Second) }},
		{"decoding a Ping", 4, func() { _, _ = Decode(ping[HeaderBytes:]) }},
		{"decoding a status answer", 152, func() { _, _ = Decode(frame[HeaderBytes:]) }},
		{"encoding a status answer", 32, func() { _, _ = AppendFrame(room, status) }},
	}
	for _, test := range tests {
		if n := testing.AllocsPerRun(100, test.do); n > test.most {
			t.Errorf("%s costs %v allocations, at most %v are known to be needed", test.name, n, test.most)
		} else {
			t.Logf("%s: %v", test.name, n)
		}
	}
}

func BenchmarkDecodeStatus(b *testing.B) {
	frame := mustFrame(b, statusAnswer())[HeaderBytes:]
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeStatus(b *testing.B) {
	e := statusAnswer()
	var room []byte
	b.SetBytes(int64(proto.Size(e)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if room, err = AppendFrame(room[:0], e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendPong(b *testing.B) {
	sentAt, now := timestamppb.New(time.Unix(5, 6)), time.Unix(1_700_000_000, 8)
	room := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		AppendPong(room, 1, sentAt, now, time.Second)
	}
}

// BenchmarkUnfolded is what a large frame costs before it is decoded.
func BenchmarkUnfolded(b *testing.B) {
	var nodes []byte
	status := mustFrame(b, statusAnswer())[HeaderBytes:]
	for len(nodes) < 900<<10 {
		nodes = append(nodes, status...)
	}
	b.SetBytes(int64(len(nodes)))
	b.ReportAllocs()
	for b.Loop() {
		if unfoldsTooFar(nodes, envelopeShape) {
			b.Fatal("an honest snapshot is refused")
		}
	}
}
