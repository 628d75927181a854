package actors

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// testOptions are the defaults with small bounds.
func testOptions() Options {
	return Options{
		ServerID: "cp", Version: "test", HelloTimeout: 10 * time.Second, MaxFrameBytes: 1 << 20, MaxInFlight: 4,
		Link: wire.LinkOptions{MaxQueueFrames: 16, MaxQueueBytes: 4 << 20, WriteTimeout: 10 * time.Second},
		Table: TableOptions{MaxConnections: 100, HeartbeatInterval: 15 * time.Second, MaxHeartbeatsPerSecond: 4000,
			RetainDisconnected: 24 * time.Hour, RetainDisconnectedMax: 100},
		History: HistoryOptions{FleetBuffer: 4096, EdgeBuffer: 256},
		Audit:   AuditOptions{FleetBuffer: 1024, EdgeBuffer: 256, IdempotencyWindow: 24 * time.Hour},
		Keyring: &Keyring{}, Log: zerolog.Nop(),
	}
}

// bubble runs a test under fake time with a System of its own. The test fails when anything that it started outlives it.
func bubble(t *testing.T, opts Options, test func(t *testing.T, s *System)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(opts)
		t.Cleanup(func() {
			s.Stop()
			time.Sleep(20 * time.Second) // the beats of fakes, and protoactor's throttle of dead letters
		})
		test(t, s)
	})
}

// fakeEdge is the peer of one connection. What it says is the test's.
type fakeEdge struct {
	t     *testing.T
	id    string
	conn  net.Conn
	in    chan *iopv1.Envelope // what was said to it but Pongs; closed when the connection has ended
	pongs chan *iopv1.Pong     // the first ones
	until chan struct{}        // closed to end beat
}

// dial connects without a word. The fake reads whatever comes.
func dial(t *testing.T, s *System) *fakeEdge {
	f := dialMute(t, s)
	go f.pump()
	return f
}

// dialMute connects a peer that reads nothing: every frame for it waits in its link.
func dialMute(t *testing.T, s *System) *fakeEdge {
	ours, theirs := net.Pipe()
	s.hellos <- struct{}{}
	s.root().Send(s.registry, &accepted{newcomer{conn: theirs}})
	return newFakeEdge(t, ours)
}

func newFakeEdge(t *testing.T, conn net.Conn) *fakeEdge {
	return &fakeEdge{t: t, conn: conn, in: make(chan *iopv1.Envelope, 1024), pongs: make(chan *iopv1.Pong, 64), until: make(chan struct{})}
}

func (f *fakeEdge) pump() {
	defer close(f.in)
	frames := wire.NewFrameReader(f.conn, 4<<20)
	for {
		frame, err := frames.Next()
		if err != nil {
			return
		}
		m, err := wire.Decode(frame)
		if err != nil {
			f.t.Errorf("undecodable frame from the Control Plane")
			return
		}
		if pong := m.GetPong(); pong != nil {
			select {
			case f.pongs <- pong:
			default:
			}
			continue
		}
		f.in <- m
	}
}

// send writes one frame; it tells whether the connection took it.
func (f *fakeEdge) send(m *iopv1.Envelope) bool {
	frame, err := wire.AppendFrame(nil, m)
	if err != nil {
		panic(err)
	}
	return f.write(frame)
}

func (f *fakeEdge) write(b []byte) bool {
	_, err := f.conn.Write(b)
	return err == nil
}

func (f *fakeEdge) reply(to uint64, m *iopv1.Envelope) bool {
	m.ReplyTo = to
	return f.send(m)
}

// next is the next word of the Control Plane; nil when the connection has ended.
func (f *fakeEdge) next() *iopv1.Envelope {
	f.t.Helper()
	select {
	case m := <-f.in:
		return m
	case <-time.After(20 * time.Minute):
		f.t.Fatal("the Control Plane said nothing")
		return nil
	}
}

// request is the next word, which must be a request.
func (f *fakeEdge) request() *iopv1.Envelope {
	f.t.Helper()
	m := f.next()
	if m == nil || m.Id == 0 {
		f.t.Fatalf("got %v, want a request", m)
	}
	return m
}

// ended waits for the end of the connection, and for nothing else to be said before it.
func (f *fakeEdge) ended() {
	f.t.Helper()
	if m := f.next(); m != nil {
		f.t.Fatalf("got %v, want the end of the connection", m)
	}
}

func (f *fakeEdge) refusedWith(code iopv1.ErrorCode) *iopv1.Error {
	f.t.Helper()
	m := f.next()
	if m.GetError().GetCode() != code || m.GetError() == nil {
		f.t.Fatalf("got %v, want the error %v", m, code)
	}
	return m.GetError()
}

func (f *fakeEdge) toldToGo(reason iopv1.GoAwayReason) *iopv1.GoAway {
	f.t.Helper()
	m := f.next()
	if m.GetGoAway() == nil || m.GetGoAway().Reason != reason {
		f.t.Fatalf("got %v, want GoAway %v", m, reason)
	}
	return m.GetGoAway()
}

// beat sends Pings until the connection or the test's part with it ends.
func (f *fakeEdge) beat(every time.Duration) {
	go func() {
		for {
			select {
			case <-f.until:
				return
			case <-time.After(every):
				if !f.send(ping()) {
					return
				}
			}
		}
	}()
}

// hang makes the peer silent for ever without closing.
func (f *fakeEdge) hang() { close(f.until) }

// connect brings a well-behaved Edge up to the answer to its hello. It beats.
func connect(t *testing.T, s *System, id string) *fakeEdge {
	t.Helper()
	return connectAs(t, s, hello(id))
}

func connectAs(t *testing.T, s *System, h *iopv1.EdgeHelloRequest) *fakeEdge {
	t.Helper()
	f := dial(t, s)
	f.id = h.EdgeId
	f.send(helloEnvelope(h))
	if m := f.next(); m.GetEdgeHelloResponse() == nil {
		t.Fatalf("hello of %q answered with %v", h.EdgeId, m)
	}
	f.beat(15 * time.Second)
	return f
}

func hello(id string) *iopv1.EdgeHelloRequest {
	return &iopv1.EdgeHelloRequest{EdgeId: id, Version: "1", ProtocolVersion: 1, InstanceId: "instance of " + id}
}

func helloOf(id, instance string) *iopv1.EdgeHelloRequest {
	h := hello(id)
	h.InstanceId = instance
	return h
}

func helloEnvelope(h *iopv1.EdgeHelloRequest) *iopv1.Envelope {
	return &iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: h}}
}

func ping() *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.Now()}}}
}

// statusOf is a snapshot with one node of that name, to tell it from others.
func statusOf(edgeID, node string) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: &iopv1.EdgeStatusResponse{
		EdgeId: edgeID, Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: node, Connected: true}}}}}
}

func errorOf(code iopv1.ErrorCode) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: code, Message: "secret of the Edge"}}}
}

func outcomeOf(commandID string, outcome iopv1.CommandOutcome) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: &iopv1.EdgeCommandResponse{
		CommandId: commandID, Outcome: outcome, Message: outcome.String()}}}
}

func phaseOf(commandID string, phase iopv1.CommandPhase) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandEvent{EdgeCommandEvent: &iopv1.EdgeCommandEvent{
		CommandId: commandID, Phase: phase, Message: phase.String()}}}
}

func goodbyeEnvelope() *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING}}}
}

// asked is an ask under way; its channel gives the one answer.
func askStatus(s *System, id string, timeout time.Duration) <-chan StatusReply {
	answer := make(chan StatusReply, 1)
	go func() { answer <- s.Status(context.Background(), id, timeout) }()
	synctest.Wait()
	return answer
}

func askCommand(s *System, ask *CommandAsk) <-chan CommandReply {
	answer := make(chan CommandReply, 1)
	go func() { answer <- s.Command(context.Background(), ask) }()
	synctest.Wait()
	return answer
}

func commandFor(edgeID string) *CommandAsk {
	return &CommandAsk{EdgeID: edgeID, Operation: "restart", Timeout: 30 * time.Second, Wait: true}
}

// answerOf waits for what must come.
func answerOf[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(20 * time.Minute):
		t.Fatal("nobody answered")
		panic("not reached")
	}
}

// view is the registry's view of an Edge now, and the Fleet it is of; nil when it isn't known.
func view(t *testing.T, s *System, id string) (*Fleet, *View) {
	t.Helper()
	synctest.Wait()
	fleet, f := s.Fleet(context.Background())
	if f != nil {
		t.Fatal(f)
	}
	return fleet, fleet.Get(id)
}

// kinds lists an Edge's events (the fleet's for "") as kind or kind:message, oldest first.
func kinds(t *testing.T, s *System, id string) (list []string) {
	t.Helper()
	synctest.Wait()
	page, f := s.Events(context.Background(), EventQuery{EdgeID: id, Limit: 1000})
	if f != nil {
		t.Fatal(f)
	}
	for _, e := range page.Events {
		line := string(e.Kind)
		if e.Kind == EdgeDisconnected {
			line += ":" + e.Message
		}
		list = append(list, line)
	}
	return list
}

// connections is how many connections' actors there are.
func connections(s *System) int {
	synctest.Wait()
	to := make(chan int, 1)
	s.root().Send(s.registry, &connectionsAsk{to: to})
	return <-to
}

func operation(t *testing.T, s *System, edgeID, id string) *Operation {
	t.Helper()
	synctest.Wait()
	o, f := s.Operation(context.Background(), edgeID, id)
	if f != nil {
		t.Fatalf("operation %s: %v", id, f)
	}
	return o
}

func wantFault(t *testing.T, got *wire.Fault, code wire.Code) {
	t.Helper()
	if got == nil || got.Code != code {
		t.Fatalf("fault %v, want %s", got, code)
	}
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
