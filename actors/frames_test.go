package actors

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// What breaks the protocol after the hello ends the connection with a word, and nothing else.
func TestProtocolErrors(t *testing.T) {
	frame := func(m *iopv1.Envelope) func(*fakeEdge) { return func(f *fakeEdge) { f.send(m) } }
	raw := func(b ...byte) func(*fakeEdge) { return func(f *fakeEdge) { f.write(b) } }
	for name, c := range map[string]struct {
		say     func(*fakeEdge)
		code    iopv1.ErrorCode
		replyTo uint64
	}{
		"a second hello":             {frame(helloEnvelope(hello("e1"))), iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION, 1},
		"a second hello, another id": {frame(helloEnvelope(hello("e2"))), iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION, 1},
		"a length of 0":              {raw(0, 0, 0, 0), iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, 0},
		"a length over the limit":    {raw(0, 0x10, 0, 1), iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, 0},
		"no envelope":                {raw(0, 0, 0, 1, 0xff), iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f, other := connect(t, s, "e1"), connect(t, s, "e2")
				a := askStatus(s, "e1", time.Minute)
				f.request()
				c.say(f)
				m := f.next()
				if m.GetError().GetCode() != c.code || m.ReplyTo != c.replyTo {
					t.Fatalf("got %v", m)
				}
				f.ended()
				r := <-a
				wantEqual(t, "why", r.View.DisconnectReason, ProtocolError)
				wantEqual(t, "hellos refused", s.Metrics().HelloRefusals["invalid_request"], 0)
				wantEqual(t, "events", kinds(t, s, ""), []string{"edge_connected", "edge_connected", "edge_disconnected:protocol_error"})
				b := askStatus(s, "e2", time.Minute)
				other.reply(other.request().Id, statusOf("e2", "n"))
				wantEqual(t, "node", nodeOf(t, <-b), "n")
			})
		})
	}
}

// What this side doesn't know, or doesn't serve, is answered where an answer is wanted; the connection stays.
func TestUnservedBodies(t *testing.T) {
	for name, m := range map[string]*iopv1.Envelope{
		"none":           {},
		"status request": {Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}},
		"command":        {Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{}}},
		"client hello":   {Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{}}},
		"hello's answer": {Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{}}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, testOptions(), func(t *testing.T, s *System) {
				f := connect(t, s, "e1")
				m.Id = 7
				f.send(m)
				got := f.next()
				if got.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED || got.ReplyTo != 7 {
					t.Fatalf("got %v", got)
				}
				if m.Body != nil {
					m.Id = 0
					f.send(m) // wants no answer
				}
				a := askStatus(s, "e1", time.Minute)
				f.reply(f.request().Id, statusOf("e1", "n"))
				wantEqual(t, "node", nodeOf(t, <-a), "n")
			})
		})
	}
}

// A frame may be as long as was said at the hello.
func TestLongFrame(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		f.send(statusOf("e1", strings.Repeat("n", 1<<20-100)))
		_, v := view(t, s, "e1")
		wantEqual(t, "kept", len(v.Pulse.Snapshot().Nodes()[0].NodeId), 1<<20-100)
	})
}

// What an Edge says of its nodes is clipped, and what has no name here isn't passed on.
func TestNodeEvents(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		f := connect(t, s, "e1")
		say := func(e *iopv1.EdgeNodeEvent) {
			f.send(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: e}})
			synctest.Wait()
		}
		say(&iopv1.EdgeNodeEvent{NodeId: strings.Repeat("n", 1000), Message: strings.Repeat("m", 10000), Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_READY})
		say(&iopv1.EdgeNodeEvent{NodeId: "n", ProviderId: "vllm-0", Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_PROVIDER_CHANGED})
		say(&iopv1.EdgeNodeEvent{NodeId: "n", Kind: iopv1.NodeEventKind_NODE_EVENT_KIND_DISCONNECTED})
		say(&iopv1.EdgeNodeEvent{NodeId: "n"})
		say(&iopv1.EdgeNodeEvent{NodeId: "n", Kind: 42})
		sub := subscribe(t, s, "none")
		events := sub.Backlog
		wantEqual(t, "kinds", kinds(t, s, "e1"), []string{"edge_connected", "node_ready", "provider_changed", "node_disconnected"})
		if len(events[1].NodeID) > maxNameBytes || len(events[1].Message) > maxMessageBytes {
			t.Errorf("kept %d and %d bytes", len(events[1].NodeID), len(events[1].Message))
		}
		wantEqual(t, "message", events[2].Message, "provider vllm-0")
	})
}
