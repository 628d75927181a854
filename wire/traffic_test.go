package wire

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	iopv1 "iop/proto/iop/v1"
)

// Every body of the protocol has a place of its own, with its own name.
func TestBodyNumberOfEveryBody(t *testing.T) {
	fields := (&iopv1.Envelope{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
	if fields.Len() < 12 {
		t.Fatalf("%d bodies", fields.Len())
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		e := &iopv1.Envelope{Id: 1 << 40, ReplyTo: 7}
		e.ProtoReflect().Set(f, protoreflect.ValueOfMessage(e.ProtoReflect().NewField(f).Message()))
		frame := mustFrame(t, e)
		if n := bodyNumber(frame[HeaderBytes:]); n != f.Number() || bodyNames[n] != string(f.Name()) {
			t.Errorf("%s is counted as %q", f.Name(), bodyNames[n])
		}
	}
}

func TestBodyNumberOfOtherFrames(t *testing.T) {
	ping := protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), nil)
	pong := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), nil)
	newer := protowire.AppendBytes(protowire.AppendTag(nil, 95, protowire.BytesType), []byte("x"))
	far := protowire.AppendVarint(protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.VarintType), 1)
	for name, test := range map[string]struct {
		payload []byte
		want    protowire.Number
	}{
		"nothing":              {nil, 0},
		"an id alone":          {[]byte{8, 1}, 0},
		"a newer body":         {newer, 0},
		"a field far away":     {far, 0},
		"no encoding":          {[]byte{0xff}, 0},
		"a body that is cut":   {append(ping[:1:1], 200), 0},
		"a body, then garbage": {append(ping[:2:2], 0xff), 0},
		"a body, then a newer": {append(ping[:2:2], newer...), 4},
		"no body's type":       {[]byte{6 << 3, 1}, 0},
		"two bodies":           {append(ping[:2:2], pong...), 5},
	} {
		if n := bodyNumber(test.payload); n != test.want {
			t.Errorf("%s: %d, want %d", name, n, test.want)
		}
	}
}

// What is counted of a frame is what Decode makes of it.
func FuzzBodyNumber(f *testing.F) {
	f.Add(mustFrame(f, numbered(1, 20))[HeaderBytes:])
	f.Add(mustFrame(f, statusAnswer())[HeaderBytes:])
	f.Add([]byte{8, 1, 0xff})
	f.Fuzz(func(t *testing.T, payload []byte) {
		got := bodyNumber(payload)
		e, err := Decode(payload)
		if err != nil {
			return
		}
		var want protowire.Number
		if body := e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().ByName("body")); body != nil {
			want = body.Number()
		}
		if got != want {
			t.Errorf("counted as %d, decoded as %d", got, want)
		}
	})
}

// counted gives what a Traffic tells, where it isn't 0.
func counted(traffic *Traffic) map[string]string {
	all := map[string]string{}
	traffic.Each(func(direction, body string, frames, bytes int64) {
		if frames != 0 || bytes != 0 {
			all[direction+" "+body] = fmt.Sprintf("%d frames, %d bytes", frames, bytes)
		}
	})
	return all
}

func TestTraffic(t *testing.T) {
	traffic := &Traffic{}
	ping := mustFrame(t, &iopv1.Envelope{Id: 3, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}})
	n := len(ping) - HeaderBytes
	for _, result := range []SendResult{Sent, Queued, Full, Closed} {
		if got := traffic.sent(ping, result); got != result {
			t.Errorf("%v became %v", result, got)
		}
	}
	traffic.Read(ping[HeaderBytes:])
	traffic.Read([]byte{0xff, 0xff})
	got := counted(traffic)
	for key, want := range map[string]string{
		"out ping": fmt.Sprintf("2 frames, %d bytes", 2*n), "in ping": fmt.Sprintf("1 frames, %d bytes", n), "in other": "1 frames, 2 bytes",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if len(got) != 3 || traffic.Refused() != 1 {
		t.Errorf("counted %v and %d refused", got, traffic.Refused())
	}
	(*Traffic)(nil).Read(ping) // counts nothing, and does no harm
	(*Traffic)(nil).wait(1, 1)
	if (*Traffic)(nil).sent(ping, Full) != Full {
		t.Error("a Traffic that isn't there changed a result")
	}
}

// A link counts what it takes and what waits; when it ends nothing waits any more.
func TestLinkCountsItsTraffic(t *testing.T) {
	for name, make := range map[string]func(net.Conn, *LinkOptions) Link{
		"tcp":       func(c net.Conn, o *LinkOptions) Link { return NewTCPLink(c, o, newLinkLog()) },
		"websocket": webSocketOver,
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe() // nobody reads: all but what the writer takes waits
			defer theirs.Close()
			traffic := &Traffic{}
			l := make(ours, &LinkOptions{MaxQueueFrames: 2, MaxQueueBytes: 1 << 20, WriteTimeout: time.Minute, Traffic: traffic})
			l.Send(numbered(1, 20), "")
			synctest.Wait() // the writer has it
			sent := 1
			for l.Send(numbered(1, 20), "") != Full {
				sent++
			}
			l.SendFrame(mustFrame(t, numbered(1, 20)))
			if frames, bytes := traffic.Waiting(); frames != 2 || bytes == 0 {
				t.Errorf("%s: %d frames and %d bytes wait", name, frames, bytes)
			}
			body := bodyNames[bodyNumber(mustFrame(t, numbered(1, 20))[HeaderBytes:])]
			payload := len(mustFrame(t, numbered(1, 20))) - HeaderBytes
			if got, want := counted(traffic)["out "+body], fmt.Sprintf("%d frames, %d bytes", sent, sent*payload); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
			if n := traffic.Refused(); n != 2 {
				t.Errorf("%s: %d refused", name, n)
			}
			l.Abort()
			l.Abort()
			if frames, bytes := traffic.Waiting(); frames != 0 || bytes != 0 {
				t.Errorf("%s: %d frames and %d bytes wait in a link that has ended", name, frames, bytes)
			}
		})
	}
}

func webSocketOver(c net.Conn, o *LinkOptions) Link {
	return &WebSocketConn{link: NewTCPLink(c, o, newLinkLog())}
}

func TestCountingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("counted without the race detector")
	}
	traffic, frame := &Traffic{}, mustFrame(t, statusAnswer())
	if n := testing.AllocsPerRun(100, func() { traffic.Read(frame[HeaderBytes:]); traffic.sent(frame, Sent) }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func BenchmarkCountFrame(b *testing.B) {
	traffic, frame := &Traffic{}, mustFrame(b, statusAnswer())[HeaderBytes:]
	for b.Loop() {
		traffic.Read(frame)
	}
}
