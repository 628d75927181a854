package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
	"iop/wire/backoff"
)

// wireServer is a Client wire whose every word a test decides.
type wireServer struct {
	t     *testing.T
	url   string
	conns chan *wireSide
}

// wireSide is the server's side of one connection. The test reads.
type wireSide struct {
	t  *testing.T
	ws *wire.WebSocketConn
}

type deafEvents struct{}

func (deafEvents) FrameBegun(string) {}
func (deafEvents) WriteStalled()     {}

func startWireServer(t *testing.T) *wireServer {
	t.Helper()
	s := &wireServer{t: t, conns: make(chan *wireSide, 8)}
	server, err := wire.NewClientServer(wire.ClientServerOptions{HandshakeTimeout: soon, MaxClients: 8,
		Link: wire.LinkOptions{MaxQueueFrames: 64, MaxQueueBytes: 1 << 20, WriteTimeout: soon},
		Accept: func(ws *wire.WebSocketConn) {
			ws.Notify(deafEvents{}, nil)
			s.conns <- &wireSide{t, ws}
		}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "ws://" + ln.Addr().String()
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() { _ = server.Close(); served.Wait() })
	return s
}

// next gives the next message.
func (s *wireSide) next() *iopv1.Envelope {
	s.ws.ReadBy(time.Now().Add(soon))
	payload, err := s.ws.Next()
	if err != nil {
		return nil
	}
	e, err := wire.Decode(payload)
	if err != nil {
		s.t.Errorf("undecodable: %v", err)
	}
	return e
}

func (s *wireSide) send(e *iopv1.Envelope) { s.ws.Send(e, "") }

// welcome reads the hello and accepts it.
func (s *wireSide) welcome(heartbeat time.Duration) *iopv1.ClientHelloRequest {
	hello := s.next()
	s.send(&iopv1.Envelope{ReplyTo: hello.GetId(), Body: &iopv1.Envelope_ClientHelloResponse{ClientHelloResponse: &iopv1.ClientHelloResponse{
		ServerId: "cp-1", ServerVersion: "v1", ProtocolVersion: 1, HeartbeatInterval: durationpb.New(heartbeat), MaxFrameBytes: 1 << 20, ServerTime: timestamppb.Now()}}})
	return hello.GetClientHelloRequest()
}

// pong answers pings until the connection ends, and gives what else came.
func (s *wireSide) pong() (others []*iopv1.Envelope) {
	for {
		e := s.next()
		if e == nil {
			s.ws.Drain()
			return others
		}
		if e.GetPing() == nil {
			others = append(others, e)
			continue
		}
		s.send(&iopv1.Envelope{ReplyTo: e.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{SentAt: e.GetPing().SentAt, ServerTime: timestamppb.Now()}}})
	}
}

func (s *wireSide) goAway(after time.Duration) {
	s.send(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN,
		Message: "stopping", ReconnectAfter: durationpb.New(after)}}})
	s.ws.FinishWith(wire.CloseGoingAway)
	s.ws.Drain()
}

func TestWireHelloAndPing(t *testing.T) {
	s := startWireServer(t)
	var served sync.WaitGroup
	var hello *iopv1.ClientHelloRequest
	served.Go(func() {
		side := <-s.conns
		hello = side.welcome(15 * time.Second)
		side.pong()
	})
	w, err := DialWire(within(t), s.url, WireOptions{ClientID: "c-1", Name: "test", Version: "2", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Server(); got.ServerID != "cp-1" || got.Version != "v1" || got.ProtocolVersion != 1 || got.HeartbeatInterval != 15*time.Second || got.MaxFrameBytes != 1<<20 || got.Time.IsZero() {
		t.Errorf("the server is %+v", got)
	}
	var pings sync.WaitGroup
	for range 8 { // at the same time
		pings.Go(func() {
			if trip, err := w.Ping(within(t)); err != nil || trip.Took <= 0 || trip.Took > soon || trip.ServerTime.IsZero() || trip.Server != w.Server() {
				t.Errorf("%+v, %v", trip, err)
			}
		})
	}
	pings.Wait()
	w.Close()
	if _, err := w.Ping(within(t)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a ping after Close: %v", err)
	}
	served.Wait()
	if hello.ClientId != "c-1" || hello.Name != "test" || hello.Version != "2" || hello.Token != "secret" || hello.ProtocolVersion != wire.ProtocolVersion {
		t.Errorf("the hello is %v", hello)
	}
}

func TestWireRefusals(t *testing.T) {
	answer := func(e *iopv1.Envelope) func(*wireSide) {
		return func(s *wireSide) {
			e.ReplyTo = s.next().GetId()
			s.send(e)
			s.ws.FinishWith(wire.ClosePolicy)
			s.ws.Drain()
		}
	}
	fault := func(code iopv1.ErrorCode) *iopv1.Envelope {
		return &iopv1.Envelope{Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: code, Message: "no"}}}
	}
	for name, c := range map[string]struct {
		say  func(*wireSide)
		want func(error) bool
	}{
		"token":   {answer(fault(iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED)), func(err error) bool { return errors.Is(err, Unauthenticated) }},
		"version": {answer(fault(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION)), func(err error) bool { return errors.Is(err, FailedPrecondition) }},
		"newer":   {answer(fault(99)), func(err error) bool { return errors.Is(err, Internal) }},
		"full": {answer(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED,
			ReconnectAfter: durationpb.New(5 * time.Second)}}}), func(err error) bool {
			away := (*GoAway)(nil)
			return errors.As(err, &away) && away.Reason == "OVERLOADED" && away.ReconnectAfter == 5*time.Second
		}},
		"nonsense": {answer(&iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}), isLost},
		"silence":  {func(s *wireSide) { s.next(); s.ws.Abort(); s.ws.Drain() }, isLost},
	} {
		t.Run(name, func(t *testing.T) {
			s := startWireServer(t)
			var served sync.WaitGroup
			served.Go(func() { c.say(<-s.conns) })
			if _, err := DialWire(within(t), s.url, WireOptions{}); !c.want(err) {
				t.Errorf("got %v", err)
			}
			served.Wait()
		})
	}
}

func isLost(err error) bool { return errors.As(err, new(*Unreachable)) }

func TestWireThatIsNone(t *testing.T) {
	ctx := within(t)
	if _, err := DialWire(ctx, "ws://127.0.0.1:1", WireOptions{}); !isLost(err) {
		t.Errorf("nobody there: %v", err)
	}
	if _, err := DialWire(ctx, startWireServer(t).url+"/elsewhere", WireOptions{}); !errors.As(err, new(*UpgradeRefused)) {
		t.Errorf("another path: %v", err)
	}
	if _, err := DialWire(ctx, startWireServer(t).url, WireOptions{Header: http.Header{"Origin": {"http://evil.example"}}}); err == nil || err.Error() != (&UpgradeRefused{403}).Error() {
		t.Errorf("a foreign origin: %v", err)
	}
	for _, url := range []string{"http://127.0.0.1", "ws://", "127.0.0.1:19080", "ws://u@h", ""} {
		if _, err := DialWire(ctx, url, WireOptions{}); err == nil || !strings.Contains(err.Error(), "is not ws://") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := DialWire(ctx, "ws://127.0.0.1:1", WireOptions{Name: strings.Repeat("x", 257)}); err == nil || isLost(err) {
		t.Errorf("a long name: %v", err)
	}
}

func TestWireDialEndsWithItsContext(t *testing.T) {
	s := startWireServer(t)
	ctx, cancel := context.WithCancel(within(t))
	var served sync.WaitGroup
	served.Go(func() {
		side := <-s.conns
		side.next()
		cancel() // the hello is never answered
		side.pong()
	})
	if _, err := DialWire(ctx, s.url, WireOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	served.Wait()
}

func TestWireComesBack(t *testing.T) {
	s := startWireServer(t)
	states := make(chan WireState, 16)
	var served sync.WaitGroup
	served.Go(func() {
		first := <-s.conns
		first.welcome(15 * time.Second)
		first.goAway(50 * time.Millisecond)
		second := <-s.conns
		second.next()
		second.ws.Abort() // before the hello was answered
		second.ws.Drain()
		third := <-s.conns
		third.welcome(15 * time.Second)
		third.pong()
	})
	w, err := dialWire(within(t), s.url, WireOptions{Changed: func(s WireState) { states <- s }}, quick())
	if err != nil {
		t.Fatal(err)
	}
	if s := <-states; s.Server == nil {
		t.Errorf("at first: %+v", s)
	}
	if s := <-states; s.Server != nil || !errors.As(s.Err, new(*GoAway)) || s.RetryIn < 50*time.Millisecond {
		t.Errorf("after the goodbye: %+v", s)
	}
	if s := <-states; !isLost(s.Err) || s.RetryIn > 10*time.Millisecond {
		t.Errorf("after the loss: %+v", s)
	}
	if _, err := w.Ping(within(t)); err != nil { // waits for the third
		t.Error(err)
	}
	if s := <-states; s.Server == nil {
		t.Errorf("at last: %+v", s)
	}
	w.Close()
	served.Wait()
}

// Whoever waits for a connection that doesn't come back is told why, and doesn't wait for ever.
func TestPingWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Wire{done: make(chan struct{}), changed: make(chan struct{})}
		w.set(nil, &Unreachable{Err: net.ErrClosed})
		again := time.AfterFunc(pingTimeout/2, func() { w.set(nil, &GoAway{Reason: "OVERLOADED"}) })
		defer again.Stop()
		began := time.Now()
		_, err := w.Ping(t.Context())
		if took := time.Since(began); !errors.As(err, new(*GoAway)) || took != pingTimeout {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

func TestWireHeartbeats(t *testing.T) {
	s := startWireServer(t)
	beats := make(chan int, 1)
	var served sync.WaitGroup
	served.Go(func() {
		side := <-s.conns
		side.welcome(time.Hour) // taken for five minutes
		e := side.next()        // the Ping that is asked for below
		side.send(&iopv1.Envelope{ReplyTo: e.GetId(), Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{HeartbeatInterval: durationpb.New(300 * time.Millisecond)}}})
		n := 0
		for ; n < 3; n++ {
			if e := side.next(); e.GetPing() == nil || e.Id != 0 {
				break
			}
			side.send(&iopv1.Envelope{Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
		}
		beats <- n
		side.next() // no more is said: the Client ends it after 2.5 intervals
		for side.next() != nil {
		}
		side.ws.Drain()
	})
	lost := make(chan error, 64)
	w, err := dialWire(within(t), s.url, WireOptions{Changed: func(s WireState) {
		if s.Err != nil {
			lost <- s.Err
		}
	}}, backoff.New(time.Hour, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ping(within(t)); err != nil {
		t.Fatal(err)
	}
	if n := <-beats; n != 3 {
		t.Errorf("%d heartbeats", n)
	}
	if err := <-lost; !isLost(err) || !strings.Contains(err.Error(), "nothing was heard") {
		t.Errorf("lost for %v", err)
	}
	w.Close()
	served.Wait()
}

func TestWireAnswers(t *testing.T) {
	s := startWireServer(t)
	asked := make(chan struct{})
	var served sync.WaitGroup
	served.Go(func() {
		side := <-s.conns
		side.welcome(15 * time.Second)
		side.send(&iopv1.Envelope{Id: 7, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.New(time.Unix(9, 0))}}})
		if e := side.next(); e.GetPong() == nil || e.ReplyTo != 7 || e.GetPong().SentAt.Seconds != 9 {
			t.Errorf("a Ping is answered %v", e)
		}
		side.send(&iopv1.Envelope{Id: 8, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}})
		if e := side.next(); e.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED || e.ReplyTo != 8 {
			t.Errorf("what isn't served is answered %v", e)
		}
		side.send(&iopv1.Envelope{ReplyTo: 999, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}}) // for nobody
		close(asked)
		e := side.next()
		side.send(&iopv1.Envelope{ReplyTo: e.GetId(), Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED}}})
		e = side.next()
		side.send(&iopv1.Envelope{ReplyTo: e.GetId(), Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{}}})
		side.pong()
	})
	w, err := DialWire(within(t), s.url, WireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if _, err := w.Ping(within(t)); !errors.Is(err, ResourceExhausted) {
		t.Errorf("an Error as the answer: %v", err)
	}
	if _, err := w.Ping(within(t)); !errors.Is(err, errNonsense) {
		t.Errorf("another answer than a Pong: %v", err)
	}
	if _, err := w.Ping(within(t)); err != nil { // it ended the wait alone
		t.Errorf("afterwards: %v", err)
	}
	w.Close()
	served.Wait()
}

func TestPauseAfter(t *testing.T) {
	const initial, most = time.Second, 30 * time.Second
	for name, c := range map[string]struct {
		err         error
		least, most time.Duration
	}{
		"lost":                       {&Unreachable{Err: net.ErrClosed}, initial, 2 * initial},
		"refused":                    {&Problem{Code: Unauthenticated}, most, most},
		"sent away":                  {&GoAway{}, initial, 2 * initial},
		"sent away for a minute":     {&GoAway{ReconnectAfter: time.Minute}, time.Minute, time.Minute},
		"sent away by a mistake":     {goAway(&iopv1.GoAway{ReconnectAfter: durationpb.New(1000 * time.Hour)}), time.Hour, time.Hour},
		"sent away, and to the past": {goAway(&iopv1.GoAway{ReconnectAfter: durationpb.New(-time.Hour)}), initial, 2 * initial},
	} {
		for range 100 {
			if got := pauseAfter(c.err, backoff.New(initial, most)); got < c.least || got > c.most {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}
