package edge

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func errorEnvelope(code iopv1.ErrorCode, message string) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_Error{Error: &iopv1.Error{Code: code, Message: message}}}
}

func goAway(reason iopv1.GoAwayReason, after time.Duration) *iopv1.Envelope {
	g := &iopv1.GoAway{Reason: reason}
	if after != 0 {
		g.ReconnectAfter = durationpb.New(after)
	}
	return &iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: g}}
}

func TestTheFirstMessageDecides(t *testing.T) {
	now := time.Now()
	hello := func(replyTo uint64, version uint32) *iopv1.Envelope {
		return &iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{ProtocolVersion: version}}}
	}
	for name, c := range map[string]struct {
		first     *iopv1.Envelope
		accepted  bool
		hopeless  bool
		notBefore time.Duration
	}{
		"accepted":            {hello(dial.HelloID, 1), true, false, 0},
		"an older peer":       {hello(dial.HelloID, 0), true, false, 0},
		"another's answer":    {hello(7, 1), false, false, 0},
		"a version to come":   {hello(dial.HelloID, 2), false, true, 0},
		"nothing known":       {&iopv1.Envelope{Id: 3}, false, false, 0},
		"a ping":              {&iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}}, false, false, 0},
		"wrong token":         {errorEnvelope(iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED, "x"), false, true, 0},
		"not for this id":     {errorEnvelope(iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED, "x"), false, true, 0},
		"bad id":              {errorEnvelope(iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, "x"), false, true, 0},
		"in conflict":         {errorEnvelope(iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, "x"), false, false, 0},
		"taken":               {errorEnvelope(iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION, "x"), false, false, 0},
		"overloaded":          {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED, time.Minute), false, false, time.Minute},
		"superseded":          {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED, 0), false, false, 0},
		"removed":             {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_REMOVED, 0), false, true, 0},
		"shutdown":            {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, 2*time.Second), false, false, 2 * time.Second},
		"a mistaken far time": {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, 1<<62), false, false, wire.MostReconnectAfter},
		"a mistaken past":     {goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, -time.Hour), false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, end := judgeHello(c.first, now)
			if (r != nil) != c.accepted || (end == nil) != c.accepted {
				t.Fatalf("accepted: %v, ended: %v", r, end)
			}
			if end == nil {
				return
			}
			var notBefore time.Duration
			if !end.NotBefore.IsZero() {
				notBefore = end.NotBefore.Sub(now)
			}
			if end.Hopeless != c.hopeless || notBefore != c.notBefore || end.Why == "" {
				t.Errorf("ended as %+v", end)
			}
		})
	}
}

func TestReconnects(t *testing.T) {
	say := func(e *iopv1.Envelope) func(*peer) {
		return func(p *peer) { p.send(e); _ = p.conn.Close() }
	}
	for name, c := range map[string]struct {
		first       func(*peer)
		least, most time.Duration
	}{
		"hung up":        {func(p *peer) { _ = p.conn.Close() }, time.Second, 2 * time.Second},
		"wrong token":    {say(errorEnvelope(iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED, "wrong token")), 30 * time.Second, 30 * time.Second},
		"overloaded":     {say(goAway(iopv1.GoAwayReason_GO_AWAY_REASON_OVERLOADED, 45*time.Second)), 45 * time.Second, 45 * time.Second},
		"not a hello":    {say(&iopv1.Envelope{Id: 9}), time.Second, 2 * time.Second},
		"no answer":      {func(*peer) {}, dial.HelloTimeout + time.Second, dial.HelloTimeout + 2*time.Second},
		"not even bytes": {func(p *peer) { _, _ = p.conn.Write([]byte{0, 0, 0, 0}); _ = p.conn.Close() }, time.Second, 2 * time.Second},
		"not a message":  {func(p *peer) { _, _ = p.conn.Write([]byte{0, 0, 0, 1, 0xff}); _ = p.conn.Close() }, time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cp := newFakeCP(t)
				startEdge(t, cp, Options{})
				p := cp.waitForHello()
				begin := time.Now()
				c.first(p)
				again := cp.waitForHello()
				if d := time.Since(begin); d < c.least || d > c.most {
					t.Errorf("came back after %v, want %v to %v", d, c.least, c.most)
				}
				_ = again.conn.Close()
				_ = p.conn.Close()
			})
		})
	}
}

func TestGoAwayIsStayedForAndObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{})
		p := cp.accept()
		begin := time.Now()
		p.send(goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, 20*time.Second))
		time.Sleep(5 * time.Second)
		p.command(5, call("c", "edge.ping")) // what was under way
		if a := p.answer(5); a.Outcome != done {
			t.Errorf("after a GoAway a command is answered %v", a)
		}
		_ = p.conn.Close()
		p = cp.accept()
		if d := time.Since(begin); d != 20*time.Second {
			t.Errorf("came back after %v, want 20s from the GoAway", d)
		}
		begin = time.Now()
		p.send(goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED, 0))
		_ = p.conn.Close()
		p = cp.accept()
		if d := time.Since(begin); d < time.Second || d > 4*time.Second { // as after any loss
			t.Errorf("after its place was taken it came back in %v", d)
		}
		_ = p.conn.Close()
	})
}

func TestAControlPlaneThatDoesntCloseAfterGoAwayIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{})
		p := cp.accept()
		p.send(goAway(iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, 0))
		begin := time.Now()
		for {
			e, err := p.read(time.Hour)
			if err != nil {
				break
			}
			if e.GetPing() != nil {
				p.send(&iopv1.Envelope{ReplyTo: e.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}})
			}
		}
		if d := time.Since(begin); d < goAwayTime || d > goAwayTime+closeTime {
			t.Errorf("it stayed for %v", d)
		}
		_ = p.conn.Close()
	})
}

func TestWhatIsNotServedIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{})
		p := cp.accept()
		asks := &iopv1.EdgeStatusRequest{Timeout: durationpb.New(-1)}
		_, _ = p.conn.Write([]byte{0, 0, 0, 5, 0xBA, 0x3E, 2, 8, 1}) // from the future, wants no answer
		for _, e := range []*iopv1.Envelope{
			{ReplyTo: 77, Body: &iopv1.Envelope_EdgeCommandResponse{}}, // an answer to nothing
			{Id: 3, ReplyTo: 77}, // the same, from the future
			{ReplyTo: 78, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}},
			{Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: asks}}, // wants no answer
			{Id: 4}, // from the future
			{Id: 5, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: &iopv1.EdgeHelloRequest{}}}, // known, not served
			{Id: 6, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: asks}},                    // served
		} {
			p.send(e)
		}
		for _, id := range []uint64{4, 5} {
			if e := p.next(); e.ReplyTo != id || e.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED {
				t.Errorf("%d is answered %v", id, e)
			}
		}
		if e := p.next(); e.ReplyTo != 6 || e.GetEdgeStatusResponse() == nil {
			t.Errorf("6 is answered %v", e)
		}
	})
}

func TestFramesThatCantBeReadEndTheConnection(t *testing.T) {
	for name, raw := range map[string][]byte{
		"too long":   {0xff, 0xff, 0xff, 0xff},
		"empty":      {0, 0, 0, 0},
		"no message": {0, 0, 0, 1, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cp := newFakeCP(t)
				startEdge(t, cp, Options{})
				p := cp.accept()
				if _, err := p.conn.Write(raw); err != nil {
					t.Fatal(err)
				}
				if got := p.closed(); len(got) != 1 || got[0].GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT {
					t.Errorf("the Edge went with %v", got)
				}
				_ = cp.accept().conn.Close()
			})
		})
	}
}

func TestASnapshotOverTheFrameLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, log := newFakeCP(t), &syncBuffer{}
		site := newFakeSite(Node{ID: "n", Name: strings.Repeat("x", 5000)})
		startEdge(t, cp, Options{Site: site, Logger: slog.New(slog.NewTextHandler(log, nil))})
		p := cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{MaxFrameBytes: 1000})
		p.send(&iopv1.Envelope{Id: 6, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}})
		if e := p.next(); e.ReplyTo != 6 || e.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED {
			t.Errorf("got %v", e)
		}
		site.set(Node{ID: "n"})
		if e := p.next(); len(e.GetEdgeStatusResponse().GetNodes()) != 1 {
			t.Errorf("when it fits again, got %v", e)
		}
		if n := strings.Count(log.String(), "over the frame limit"); n != 1 {
			t.Errorf("the log says so %d times", n)
		}
	})
}

// A log may be a terminal, which shows a message as it is, and a field quoted: what somebody else said is a field.
func TestWhatAControlPlaneSaysIsNoMessageOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, log := newFakeCP(t), &syncBuffer{}
		startEdge(t, cp, Options{Logger: slog.New(slog.NewJSONHandler(log, nil))})
		p := cp.waitForHello()
		p.send(errorEnvelope(iopv1.ErrorCode_ERROR_CODE_UNAVAILABLE, "no \x1b[2J"))
		p.closed()
		synctest.Wait()
		if !strings.Contains(log.String(), `"msg":"Not connected.","why":"The Control Plane refuses`) || !strings.Contains(log.String(), `no \u001b[2J"`) {
			t.Errorf("the log says %s", log)
		}
	})
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestPongsSetTheServersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{})
		p := cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{})
		p.next()
		late := func(id string) iopv1.CommandOutcome {
			c := call(id, "edge.ping")
			c.ExpiresAt = timestamppb.New(time.Now().Add(time.Hour))
			p.command(9, c)
			return p.answer(9).Outcome
		}
		pong := func(replyTo uint64) {
			p.send(&iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{ServerTime: timestamppb.New(time.Now().Add(2 * time.Hour))}}})
		}
		ping := p.next()
		pong(ping.Id + 5)
		if got := late("a"); got != done {
			t.Errorf("after a Pong to no Ping: %v", got)
		}
		pong(ping.Id)
		if got := late("b"); got != rejected {
			t.Errorf("two hours late: %v", got)
		}
	})
}

func TestTheTokenThatCantBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, tries := newFakeCP(t), 0
		startEdge(t, cp, Options{Token: func() (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("gone")
			}
			return "ok", nil
		}})
		if p := cp.waitForHello(); p.hello.Token != "ok" {
			t.Errorf("token is %q", p.hello.Token)
		} else {
			_ = p.conn.Close()
		}
	})
}

func TestRunEndsWhileNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t) // takes no connection
		stop := startEdge(t, cp, Options{})
		time.Sleep(time.Minute)
		begin := time.Now()
		stop()
		if d := time.Since(begin); d != 0 {
			t.Errorf("stopping took %v", d)
		}
		stop = startEdge(t, cp, Options{})
		p := cp.waitForHello() // and says no more
		begin = time.Now()
		stop()
		if d := time.Since(begin); d != 0 {
			t.Errorf("stopping at the hello took %v", d)
		}
		p.closed()
	})
}

func TestOptionsAreCheckedAtOnce(t *testing.T) {
	many := map[string]string{}
	for i := range 65 {
		many[strings.Repeat("k", i+1)] = ""
	}
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"nothing":      {Options{}, []string{"Address", "ID"}},
		"id":           {Options{ID: "-", Address: "h:1"}, []string{"ID"}},
		"texts":        {Options{ID: "a", Address: "h:1", Name: long, Version: long}, []string{"Name", "Version"}},
		"labels":       {Options{ID: "a", Address: "h:1", Labels: many}, []string{"65 labels"}},
		"a label":      {Options{ID: "a", Address: "h:1", Labels: map[string]string{"k": long, long: ""}}, []string{`label "k"`, `label "xxx`}},
		"an operation": {Options{ID: "a", Address: "h:1", Operations: map[string]Operation{"": nothing, "x": nil, long: nothing}}, []string{`operation ""`, `operation "x`, `operation "xxx`}},
		"bounds":       {Options{ID: "a", Address: "h:1", ReconnectInitial: 2, ReconnectMax: 1}, []string{"Reconnect"}},
	} {
		_, err := New(c.o)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != len(c.want) {
			t.Errorf("%s: %v", name, err)
		} else {
			for i, w := range c.want {
				if !strings.Contains(lines[i], w) {
					t.Errorf("%s: line %d is %q, want %q", name, i, lines[i], w)
				}
			}
		}
	}
	if _, err := New(Options{ID: "a", Address: "h:1"}); err != nil {
		t.Error(err)
	}
}
