package actors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// FuzzHello judges whatever is a hello. One that is let in holds every limit.
func FuzzHello(f *testing.F) {
	for _, h := range []*iopv1.EdgeHelloRequest{{}, hello("e1"), {Labels: map[string]string{"region": "kr"}, Operations: []string{"restart"}}, {EdgeId: "e1", ProtocolVersion: 2}} {
		b, _ := proto.Marshal(h)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h := &iopv1.EdgeHelloRequest{}
		if proto.Unmarshal(b, h) != nil {
			return
		}
		if fault := checkHello(h); fault != nil {
			if fault.Code != wire.InvalidRequest && fault.Code != wire.FailedPrecondition || !utf8.ValidString(fault.Message) || len(fault.Message) > 256 {
				t.Fatalf("refused with %v", fault)
			}
			return
		}
		size := len(h.Name) + len(h.Version) + len(h.InstanceId)
		for k, v := range h.Labels {
			size += len(k) + len(v)
		}
		for _, o := range h.Operations {
			size += len(o)
		}
		if !wire.ValidEdgeID(h.EdgeId) || h.ProtocolVersion > 1 || size > 3*256+64*2*256+128*128 {
			t.Fatalf("let in: %v", h)
		}
		if fault := (&Keyring{}).admitEdge(h.EdgeId, h.Token, nil); fault != nil {
			t.Fatalf("refused without any rule: %v", fault)
		}
	})
}

// FuzzEdgeConnection says whatever comes to an Edge's mind to a real System: with nothing before it, or after a good hello and with a
// status, a command and a question under way, which it may answer. Whatever it is, nothing panics, those who asked are answered at the
// end of the connection at the latest, and another Edge is still served.
func FuzzEdgeConnection(f *testing.F) {
	for _, b := range [][]byte{{}, {0, 1}, {1, 1, 0}, {2, 2, 1}, {3, 0, 0, 1, 3, 0, 0, 3}, {4, 0}, {5}, {6, 2}, {7, 0, 0}, {8}, {9, 3, 1},
		{10, 1, 5}, {11, 1}, {12}, {13, 3, 1, 2, 3}, {14, 0, 0, 0}, {15, 2}, {3, 0, 0, 2, 2, 2, 2, 2, 2, 1, 0}, {0, 1, 2, 2, 2, 8},
		{0, 1, 0, 0, 1, 1}, {1, 2, 0, 0, 2}, {9, 3, 0, 1, 0, 2}, {6, 1, 0, 9}, {6, 2, 0, 9}, {6, 3, 0, 9}, {5, 0, 0, 0, 7, 0, 1}} {
		f.Add(append([]byte{0}, b...))
		f.Add(append([]byte{1}, b...))
	}
	s, log := fuzzSystem(f)
	n := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		n++
		defer log.check(t)
		script := &script{b: b, edgeID: fmt.Sprint("fuzz", n)}
		ours, theirs := net.Pipe()
		s.hellos <- struct{}{}
		s.root().Send(s.registry, &accepted{newcomer{conn: theirs}})
		peer := newFakeEdge(t, ours)
		peer.in = make(chan *iopv1.Envelope, 256) // more than one input can be answered with
		go peer.pump()
		status, command := make(chanSink, 1), make(chan CommandReply, 1)
		script.greeted = script.byte()%2 == 0
		if script.greeted {
			greet(t, s, peer, script, status, command)
		}
		_ = ours.SetWriteDeadline(time.Now().Add(20 * time.Second))
		if _, err := ours.Write(script.frames()); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the Control Plane reads no more")
		}
		ours.Close()
		for range peer.in { // ends, and so do its goroutines
		}
		if script.greeted {
			soon(t, (<-chan StatusReply)(status))
			soon(t, command)
		}
		if n%8 != 0 {
			return
		}
		if r := s.Status(context.Background(), "other", 10*time.Second); r.Fault != nil || r.Snapshot.EdgeID != "other" {
			t.Fatalf("another Edge was harmed: %+v", r)
		}
	})
}

// greet says a good hello, and has the Edge asked for what the script may answer.
func greet(t *testing.T, s *System, peer *fakeEdge, script *script, status chanSink, command chan CommandReply) {
	peer.send(helloEnvelope(hello(script.edgeID)))
	soon(t, peer.in)
	s.root().Send(s.registry, &statusAsk{edgeID: script.edgeID, timeout: time.Minute, deadline: s.clock.mono() + int64(time.Minute), to: status})
	script.requests[0] = soon(t, peer.in).Id
	s.root().Send(s.operations, &commandAsk{ask: commandFor(script.edgeID), request: &iopv1.EdgeCommandRequest{Operation: "o"}, to: command})
	m := soon(t, peer.in)
	script.requests[1], script.commandID = m.Id, m.GetEdgeCommandRequest().CommandId
	s.root().Send(s.registry, &queryCommands{edgeID: script.edgeID, ids: []string{script.commandID}})
	script.requests[2] = soon(t, peer.in).Id
}

// fuzzSystem is one System for all inputs of a process, with an Edge that always answers.
func fuzzSystem(f *testing.F) (*System, *panicLog) {
	opts, log := testOptions(), &panicLog{}
	opts.Log = zerolog.New(log)
	opts.Table.HeartbeatInterval = time.Hour
	s := NewSystem(opts)
	f.Cleanup(s.Stop)
	ours, theirs := net.Pipe()
	s.hellos <- struct{}{}
	s.root().Send(s.registry, &accepted{newcomer{conn: theirs}})
	frame, _ := wire.AppendFrame(nil, helloEnvelope(hello("other")))
	go func() {
		_, _ = ours.Write(frame)
		frames := wire.NewFrameReader(ours, 1<<20)
		for {
			b, err := frames.Next()
			if err != nil {
				return
			}
			m, _ := wire.Decode(b)
			if m.GetEdgeStatusRequest() != nil {
				a := statusOf("other", "n")
				a.ReplyTo = m.Id
				frame, _ := wire.AppendFrame(nil, a)
				_, _ = ours.Write(frame)
			}
		}
	}()
	for s.Metrics().EdgesConnected == 0 {
		time.Sleep(time.Millisecond)
	}
	return s, log
}

// panicLog keeps what the log says of a panic. Actors survive theirs, so that nothing else tells.
type panicLog struct{ last atomic.Pointer[string] }

func (p *panicLog) Write(b []byte) (int, error) {
	if line := string(b); strings.Contains(line, "panicked") {
		p.last.Store(&line)
	}
	return len(b), nil
}

func (p *panicLog) check(t *testing.T) {
	t.Helper()
	if line := p.last.Swap(nil); line != nil {
		t.Error(*line)
	}
}

func soon[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		panic("not reached")
	}
}

// script makes frames of bytes: mostly good ones, of any body, with ids that mean something.
type script struct {
	b                 []byte
	edgeID, commandID string
	greeted           bool
	requests          [3]uint64 // what the Edge was asked by, once it was greeted
}

func (s *script) frames() (all []byte) {
	for len(s.b) > 0 {
		all = append(all, s.frame()...)
	}
	return all
}

func (s *script) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

func (s *script) text(known ...string) string {
	if c := int(s.byte()); c < len(known) {
		return known[c]
	}
	n := min(int(s.byte()), len(s.b))
	text := string(s.b[:n])
	s.b = s.b[n:]
	if !utf8.ValidString(text) {
		return "?"
	}
	return text
}

func (s *script) time() *timestamppb.Timestamp {
	switch c := s.byte(); c {
	case 0:
		return nil
	case 1:
		return timestamppb.Now()
	default:
		return &timestamppb.Timestamp{Seconds: int64(c) << (s.byte() % 64), Nanos: int32(s.byte()) - 5}
	}
}

func (s *script) frame() []byte {
	kind := s.byte() % 17
	if kind == 16 { // no envelope at all
		n := min(int(s.byte()), len(s.b))
		raw := append([]byte{0, 0, 0, byte(n)}, s.b[:n]...)
		s.b = s.b[n:]
		return raw
	}
	m := &iopv1.Envelope{ReplyTo: s.replyTo(), Id: uint64(s.byte() % 3)}
	s.fill(m, kind)
	frame, err := wire.AppendFrame(nil, m)
	if err != nil {
		panic(err)
	}
	return frame
}

func (s *script) replyTo() uint64 {
	switch c := s.byte() % 5; c {
	case 0:
		return 0
	case 4:
		return 1 << 60 // nothing was asked by it
	default:
		return s.requests[c-1]
	}
}

func (s *script) fill(m *iopv1.Envelope, kind byte) {
	switch kind {
	case 0:
		m.Body = &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: s.status()}
	case 1:
		m.Body = &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: s.response()}
	case 2:
		m.Body = &iopv1.Envelope_EdgeCommandEvent{EdgeCommandEvent: &iopv1.EdgeCommandEvent{CommandId: s.text(s.commandID, ""),
			Phase: iopv1.CommandPhase(s.byte() % 8), Message: s.text(""), ProgressPercent: uint32(s.byte()), OccurredAt: s.time(), Result: s.object(3)}}
	case 3:
		m.Body = &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: &iopv1.EdgeNodeEvent{NodeId: s.text("n"), Kind: iopv1.NodeEventKind(s.byte() % 6),
			Message: s.text(""), OccurredAt: s.time(), ProviderId: s.text("")}}
	case 4:
		m.Body = &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason(s.byte() % 8), ReconnectAfter: &durationpb.Duration{Seconds: int64(s.byte())}}}
	case 5:
		id := s.text(s.edgeID, "other")
		if !s.greeted && id == "other" { // that would be a takeover, and no harm
			id = s.edgeID
		}
		m.Body = &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: hello(id)}
	case 6:
		m.Body = &iopv1.Envelope_Error{Error: &iopv1.Error{Code: iopv1.ErrorCode(s.byte() % 12), Message: s.text("")}}
	case 7:
		m.Body = &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: s.time()}}
	case 8:
		m.Body = &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}
	case 9:
		q := &iopv1.EdgeCommandQueryResponse{}
		for range s.byte() % 4 {
			q.Responses = append(q.Responses, s.response())
			q.UnknownCommandIds = append(q.UnknownCommandIds, s.text(s.commandID, ""))
		}
		m.Body = &iopv1.Envelope_EdgeCommandQueryResponse{EdgeCommandQueryResponse: q}
	case 10:
		m.Body = &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}
	case 11:
		m.Body = &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{CommandId: s.text(s.commandID)}}
	case 12:
		m.Body = &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{}}
	case 13:
		m.Body = &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{}}
	}
}

func (s *script) response() *iopv1.EdgeCommandResponse {
	return &iopv1.EdgeCommandResponse{CommandId: s.text(s.commandID, ""), Outcome: iopv1.CommandOutcome(s.byte() % 8), Message: s.text(""), Result: s.object(3)}
}

func (s *script) status() *iopv1.EdgeStatusResponse {
	m := &iopv1.EdgeStatusResponse{EdgeId: s.text(s.edgeID, "other", ""), ObservedAt: s.time()}
	for range s.byte() % 4 {
		n := &iopv1.EdgeNodeSnapshot{NodeId: s.text("n"), Connected: s.byte()%2 == 0}
		for range s.byte() % 3 {
			n.Providers = append(n.Providers, &iopv1.EdgeProviderSnapshot{Status: iopv1.ProviderStatus(s.byte() % 5), General: &iopv1.ProviderCounters{Capacity: uint32(s.byte())}})
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func (s *script) object(depth int) *structpb.Struct {
	if depth == 0 || s.byte()%2 == 0 {
		return nil
	}
	o := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for range s.byte() % 3 {
		o.Fields[s.text("a", "b")] = []*structpb.Value{{}, structpb.NewStringValue("x"), structpb.NewStructValue(s.object(depth - 1)), structpb.NewNumberValue(float64(s.byte()))}[s.byte()%4]
	}
	return o
}
