package fleet

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/internal/testkit"
	"iop/load/ledger"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnEdgeIsAFullCitizen(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.PushInterval = time.Hour; o.Token = "secret" })
	p := cp.peer()
	if p.hello.EdgeId != "t-00000" || p.hello.InstanceId == "" || p.hello.ProtocolVersion != 1 || p.hello.Token != "secret" {
		t.Errorf("hello %v", p.hello)
	}
	push := p.hear("snapshot", func(m *iopv1.Envelope) bool { return m.GetEdgeStatusResponse() != nil && m.ReplyTo == 0 })
	if s := push.GetEdgeStatusResponse(); s.EdgeId != "t-00000" || len(s.Nodes) != 2 || len(s.Nodes[1].Providers) != 2 {
		t.Errorf("snapshot %v", s)
	}

	p.askStatus(7)
	asked := p.answer(7).GetEdgeStatusResponse()
	if stamp := asked.GetNodes()[0].Labels[StampLabel]; stamp != "t-00000/1" {
		t.Errorf("the first answer's stamp is %q", stamp)
	}
	p.askStatus(8)
	if stamp := p.answer(8).GetEdgeStatusResponse().GetNodes()[0].Labels[StampLabel]; stamp != "t-00000/2" {
		t.Errorf("the second answer's stamp is %q", stamp)
	}

	at := timestamppb.Now()
	p.send(&iopv1.Envelope{Id: 9, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: at}}})
	if pong := p.answer(9).GetPong(); !proto.Equal(pong.GetSentAt(), at) {
		t.Errorf("pong %v", pong)
	}
	p.send(&iopv1.Envelope{Id: 10, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{}}})
	if e := p.answer(10).GetError(); e.GetCode() != iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED {
		t.Errorf("what an Edge doesn't know is answered %v", e)
	}
	if _, calm := f.Calm(0); !calm || f.Connected() != 1 {
		t.Errorf("calm %v, %d connected", calm, f.Connected())
	}
}

// Messages in one packet, and a message in many, are all the same.
func TestFramesComeInPieces(t *testing.T) {
	cp := startFakeCP(t)
	startFleet(t, cp, nil)
	p := cp.peer()
	var all []byte
	for id := uint64(1); id <= 20; id++ {
		frame, err := wire.AppendFrame(nil, &iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, frame...)
	}
	for piece := range slices.Chunk(all, 5) {
		if _, err := p.conn.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	for id := uint64(1); id <= 20; id++ {
		p.answer(id)
	}
}

func TestHeartbeats(t *testing.T) {
	cp := startFakeCP(t)
	cp.heartbeat = time.Second // the shortest that an Edge keeps to
	startFleet(t, cp, nil)
	p := cp.peer()
	isPing := func(m *iopv1.Envelope) bool { return m.GetPing() != nil }
	first, second := p.hear("heartbeat", isPing), p.hear("second heartbeat", isPing)
	// How late it may come is the machine's affair; it doesn't come sooner.
	if after := second.GetPing().SentAt.AsTime().Sub(first.GetPing().SentAt.AsTime()); after < 900*time.Millisecond {
		t.Errorf("the second heartbeat was sent %v after the first, want a second", after)
	}
	p.ended() // it hears nothing for 2.5 intervals
}

func command(f *Fleet, id uint64, operation, nonce string) *iopv1.Envelope {
	return &iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{
		CommandId: "op-1", Operation: operation, ExpiresAt: timestamppb.New(time.Now().Add(time.Minute)),
		Parameters: &structpb.Struct{Fields: map[string]*structpb.Value{NonceKey: structpb.NewStringValue(nonce)}}}}}
}

func TestACommandRunsOnceAndIsAnsweredAgain(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	nonce := f.opts.Ledger.Ask(0)
	for id := uint64(1); id <= 2; id++ {
		p.send(command(f, id, OperationQuick, nonce))
		a := p.answer(id).GetEdgeCommandResponse()
		if a.GetOutcome() != iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED || a.GetResult().GetFields()[NonceKey].GetStringValue() != nonce {
			t.Errorf("answer %d: %v", id, a)
		}
	}
	if n := f.Stats().Commands; n != 1 {
		t.Errorf("%d commands were run, want 1", n)
	}
	if got := f.opts.Ledger.Totals().ExecutedTwice; got != 1 {
		t.Errorf("the ledger has %d that came twice, want 1", got)
	}
}

func TestACommandThatGoesOn(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	nonce := f.opts.Ledger.Ask(0)
	p.send(command(f, 1, OperationPhased, nonce))
	if a := p.answer(1).GetEdgeCommandResponse(); a.GetOutcome() != iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED {
		t.Errorf("the first answer: %v", a)
	}
	for _, want := range phases {
		e := p.hear("event", func(m *iopv1.Envelope) bool { return m.GetEdgeCommandEvent() != nil }).GetEdgeCommandEvent()
		if e.Phase != want.phase || e.ProgressPercent != want.percent || e.CommandId != "op-1" {
			t.Errorf("event %v, want %v", e, want)
		}
	}
	p.send(&iopv1.Envelope{Id: 2, Body: &iopv1.Envelope_EdgeCommandQueryRequest{
		EdgeCommandQueryRequest: &iopv1.EdgeCommandQueryRequest{CommandIds: []string{"op-1", "op-2"}}}})
	q := p.answer(2).GetEdgeCommandQueryResponse()
	if len(q.GetResponses()) != 1 || q.Responses[0].Outcome != iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED || !slices.Equal(q.UnknownCommandIds, []string{"op-2"}) {
		t.Errorf("what became of it: %v", q)
	}
}

func TestCommandsThatAreRefused(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	late := command(f, 1, OperationQuick, f.opts.Ledger.Ask(0))
	late.GetEdgeCommandRequest().ExpiresAt = timestamppb.New(time.Now().Add(-time.Minute))
	p.send(late)
	p.send(command(f, 2, OperationQuick, "somebody else's"))
	for id := uint64(1); id <= 2; id++ {
		if a := p.answer(id).GetEdgeCommandResponse(); a.GetOutcome() != iopv1.CommandOutcome_COMMAND_OUTCOME_REJECTED {
			t.Errorf("command %d: %v", id, a)
		}
	}
	if n := f.Stats().Commands; n != 0 {
		t.Errorf("%d commands were run", n)
	}
}

func TestChangesAreTold(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.PushInterval = 20 * time.Millisecond })
	p := cp.peer()
	for want := range uint64(3) {
		if number, since := p.event(); number != want+1 || since != 1 {
			t.Errorf("event %d is %d since %d", want+1, number, since)
		}
	}
	awaitAll(t, f)
	f.ResetLinks([]int{0})
	first, since := cp.peer().event()
	if first < 4 || since != first {
		t.Errorf("the first event on a new link is %d since %d", first, since)
	}
}

// event gives the number of the next node event, and since when none was said on another link.
func (p *peer) event() (number, since uint64) {
	p.cp.t.Helper()
	e := p.hear("event", func(m *iopv1.Envelope) bool { return m.GetEdgeNodeEvent() != nil }).GetEdgeNodeEvent()
	number, since, ok := ParseEvent(e.Message)
	if !ok {
		p.cp.t.Fatalf("an event says %q", e.Message)
	}
	return number, since
}

// What an Edge says has to come to live readers, unless its link ends.
func TestEventsAreInTheBooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		e := dialledEdge(here)
		e.welcome(&iopv1.EdgeHelloResponse{})
		reader := e.shard.f.opts.Ledger.Events()
		reader.Open()
		time.Sleep(time.Millisecond)
		e.event()
		time.Sleep(2 * ledger.EventTime)
		if n := reader.Overdue(); n != 1 {
			t.Errorf("%d are overdue, want 1", n)
		}
		e.event()
		e.resetLink()
		time.Sleep(2 * ledger.EventTime)
		if n := reader.Overdue(); n != 0 {
			t.Errorf("%d are overdue that were said on a link which has ended", n)
		}
	})
}

func TestParseEvent(t *testing.T) {
	for _, c := range []struct {
		message       string
		number, since uint64
		ok            bool
	}{
		{EventMessage(17, 12), 17, 12, true},
		{"load event 17", 17, 0, false},
		{"load event x since 12", 0, 12, false},
		{"another event", 0, 0, false},
	} {
		if number, since, ok := ParseEvent(c.message); ok != c.ok || ok && (number != c.number || since != c.since) {
			t.Errorf("%q is %d since %d, %v", c.message, number, since, ok)
		}
	}
}

func TestEdgesComeBackWhenTheirLinksAreReset(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.Count = 5 })
	for range 5 {
		cp.peer()
	}
	awaitAll(t, f)
	before, _ := f.Calm(0)
	f.ResetLinks([]int{0, 1, 2, 3, 4})
	for range 5 {
		cp.peer()
	}
	awaitAll(t, f)
	if after, calm := f.Calm(0); after == before || !calm {
		t.Errorf("epoch %d, then %d; calm %v", before, after, calm)
	}
	s := f.Stats()
	if s.Reconnects != 5 || len(s.Troubles) != 0 {
		t.Errorf("%d reconnects, troubles %v; want 5 and none, for they were told to", s.Reconnects, s.Troubles)
	}
}

// What takes links again and again takes also that of an Edge which has just come back.
func TestNoEdgeIsCalmWhileTheyAreUnsettled(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	cp.peer()
	awaitAll(t, f)
	before, _ := f.Calm(0)
	f.Unsettle(func() {
		f.ResetLinks([]int{0})
		cp.peer()
		awaitAll(t, f)
		if _, calm := f.Calm(0); calm {
			t.Error("calm, though its new link may be taken, too")
		}
	})
	cp.peer()
	awaitAll(t, f)
	if after, calm := f.Calm(0); after == before || !calm {
		t.Errorf("epoch %d, then %d; calm %v", before, after, calm)
	}
	if s := f.Stats(); s.Reconnects != 2 || len(s.Troubles) != 0 {
		t.Errorf("%d reconnects, troubles %v; want 2 and none", s.Reconnects, s.Troubles)
	}
}

func awaitAll(t *testing.T, f *Fleet) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := f.AwaitAll(ctx); err != nil {
		t.Fatalf("%d are connected: %v", f.Connected(), err)
	}
}

func TestAGoAwayIsHeeded(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	awaitAll(t, f)
	const after = 300 * time.Millisecond
	began := time.Now()
	p.send(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{
		Reason: iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN, ReconnectAfter: durationpb.New(after)}}})
	p.askStatus(1)
	p.answer(1) // what is pending is still answered
	p.conn.Close()
	cp.peer()
	if took := time.Since(began); took < after {
		t.Errorf("it came back after %v, want at least %v", took, after)
	}
	if n := f.Stats().Troubles["sent away: SHUTDOWN"]; n != 1 {
		t.Errorf("troubles %v", f.Stats().Troubles)
	}
}

// An Edge that the Control Plane throws out stays calm, for this side has done nothing to it. It isn't connected, and that is counted.
func TestAnEdgeIsThrownOut(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.Count, o.Reconnect, o.ReconnectMax = 2, time.Hour, time.Hour })
	peers := []*peer{cp.peer(), cp.peer()}
	awaitAll(t, f)
	out := 0
	if peers[0].hello.EdgeId == "t-00001" {
		out = 1
	}
	peers[0].conn.Close()
	testkit.Eventually(t, "its end is noticed", func() bool { return f.Connected() == 1 })
	if _, calm := f.Calm(out); !calm || f.IsConnected(out) || !f.IsConnected(1-out) {
		t.Errorf("calm %v, connected %v; the other one %v", calm, f.IsConnected(out), f.IsConnected(1-out))
	}
	testkit.Eventually(t, "it is counted", func() bool { return f.Stats().Troubles["ended by the peer"] == 1 })
}

func TestAHungEdgeComesBackOnANewLink(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	hung := cp.peer()
	awaitAll(t, f)
	f.Behave([]int{0}, Mute, 0, 200*time.Millisecond)
	hung.askStatus(1)
	second := cp.peer()
	second.askStatus(2)
	second.answer(2)
	for m := range drained(hung) {
		if m.ReplyTo == 1 {
			t.Error("the hung link was answered on")
		}
	}
	if _, calm := f.Calm(0); !calm {
		t.Error("it is back and not calm")
	}
	hung.conn.Close() // only now: it had been left open
}

// drained gives what a peer has said so far.
func drained(p *peer) func(func(*iopv1.Envelope) bool) {
	return func(yield func(*iopv1.Envelope) bool) {
		for {
			select {
			case m, ok := <-p.said:
				if !ok || !yield(m) {
					return
				}
			default:
				return
			}
		}
	}
}

func TestLateAndWrongAnswers(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	awaitAll(t, f)
	const delay = 200 * time.Millisecond
	f.Behave([]int{0}, Late, delay, time.Hour)
	began := time.Now()
	p.askStatus(1)
	p.answer(1)
	if took := time.Since(began); took < delay {
		t.Errorf("the late answer came after %v", took)
	}
	f.Behave([]int{0}, Wrong, 0, time.Hour)
	for id := uint64(4); id < 8; id++ {
		p.askStatus(id)
	}
	wrong := 0
	for range 4 {
		m := p.hear("wrong answer", func(m *iopv1.Envelope) bool { return m.ReplyTo != 0 })
		if s := m.GetEdgeStatusResponse(); s == nil || s.EdgeId != "t-00000" || m.ReplyTo > 1000 {
			wrong++
		}
	}
	if wrong != 4 {
		t.Errorf("%d of 4 answers were wrong", wrong)
	}
}

func TestEdgesLeaveAndComeBack(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	awaitAll(t, f)
	f.leave([]int{0}, true, time.Millisecond)
	p.hear("goodbye", func(m *iopv1.Envelope) bool {
		return m.GetGoAway().GetReason() == iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING
	})
	p.ended()
	p = cp.peer()
	awaitAll(t, f)
	f.leave([]int{0}, false, time.Millisecond)
	cp.peer()
	for m := range p.said { // until its end
		if m.GetGoAway() != nil {
			t.Error("it said goodbye where it was to go without one")
		}
	}
	if p.err != io.EOF {
		t.Errorf("the link of one that left ended with %v", p.err)
	}
}

func TestLinksAreReset(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.Count = 2 })
	first := []*peer{cp.peer(), cp.peer()}
	for _, reset := range []func(){func() { f.ResetLinks([]int{0, 1}) }, f.ResetAllLinks} {
		awaitAll(t, f)
		reset()
		for _, p := range first {
			p.ended()
			if !errors.Is(p.err, syscall.ECONNRESET) {
				t.Errorf("a link that was reset ended with %v", p.err)
			}
		}
		first = []*peer{cp.peer(), cp.peer()}
	}
}

func TestChurn(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.Count = 5 })
	for range 5 {
		cp.peer()
	}
	awaitAll(t, f)
	ctx, enough := context.WithCancel(t.Context())
	var churning sync.WaitGroup
	churning.Go(func() { f.Churn(ctx, 100, time.Millisecond) })
	for range 20 {
		cp.peer()
	}
	enough()
	churning.Wait()
	awaitAll(t, f)
	if s := f.Stats(); s.Reconnects < 20 || len(s.Troubles) != 0 {
		t.Errorf("%d reconnects, troubles %v; want at least 20 and none, for they were told to", s.Reconnects, s.Troubles)
	}
}

func TestAClone(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, nil)
	p := cp.peer()
	awaitAll(t, f)
	f.Clone([]int{0}, 200*time.Millisecond)
	twin := cp.peer()
	if twin.hello.EdgeId != p.hello.EdgeId || twin.hello.InstanceId == p.hello.InstanceId {
		t.Errorf("the clone says %v, the other %v", twin.hello, p.hello)
	}
	if n := f.Connected(); n != 1 {
		t.Errorf("%d Edges are connected, want 1: two links have one id", n)
	}
	twin.ended()
	if n := f.Connected(); n != 1 {
		t.Errorf("%d Edges are connected without the clone", n)
	}
	f.eachShard(func(*shard) {}) // its leave is over
	if _, calm := f.Calm(0); calm {
		t.Error("it is calm already, though a hello of the clone's may still take its id")
	}
	for by := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, calm := f.Calm(0); calm {
			break
		}
		if time.Now().After(by) {
			t.Fatal("it is never calm again")
		}
	}
}

// Two with one id number their events in one row: a reader who sees a number twice must not take it for an event given twice, nor
// one for skipped which only the other's link had.
func TestAClonesEvents(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.PushInterval = 20 * time.Millisecond })
	p := cp.peer()
	awaitAll(t, f)
	f.Clone([]int{0}, time.Minute)
	said := map[uint64]*peer{}
	for _, p := range []*peer{p, cp.peer(), p} {
		for range 5 {
			number, since := p.event()
			if said[number] != nil {
				t.Errorf("two events are %d", number)
			}
			said[number] = p
			for n := since; n < number; n++ {
				if said[n] != p {
					t.Errorf("event %d says that its link had all since %d, and it had no %d", number, since, n)
				}
			}
		}
	}
}

func TestCloseSaysGoodbye(t *testing.T) {
	cp := startFakeCP(t)
	f := startFleet(t, cp, func(o *Options) { o.Count = 3 })
	peers := []*peer{cp.peer(), cp.peer(), cp.peer()}
	awaitAll(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if cut := f.Close(ctx); cut != 0 {
		t.Errorf("%d links had to be cut", cut)
	}
	for _, p := range peers {
		p.hear("goodbye", func(m *iopv1.Envelope) bool { return m.GetGoAway() != nil })
	}
}

func TestNobodyListens(t *testing.T) {
	cp := startFakeCP(t)
	cp.listener.Close()
	f := startFleet(t, cp, nil)
	for by := time.Now().Add(patience); f.Stats().Troubles["dial: refused"] < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("troubles %v", f.Stats().Troubles)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.AwaitAll(ctx); err == nil {
		t.Error("all are connected, to nobody")
	}
}

func TestEachEdgeHasItsOwnAddress(t *testing.T) {
	seen := map[string]int{}
	for i := range 20_000 {
		a := Source("127.0.0.1:1", i)
		if a == nil {
			t.Skip("not on this system")
		}
		if other, twice := seen[a.String()]; twice || !strings.HasPrefix(a.String(), "127.") {
			t.Fatalf("Edges %d and %d have %s", other, i, a)
		}
		seen[a.String()] = i
	}
	if a := Source("192.0.2.1:1", 1); a != nil {
		t.Errorf("a Control Plane elsewhere is dialled from %s", a)
	}
}

func TestTimersComeInOrder(t *testing.T) {
	var h timers
	var want []time.Duration
	for range 1000 {
		at := time.Duration(rand.IntN(500))
		want = append(want, at)
		h.push(timer{at: at})
	}
	slices.Sort(want)
	for i, at := range want {
		if at > 0 {
			if _, early := h.due(at - 1); early {
				t.Fatalf("timer %d came before its time", i)
			}
		}
		got, ok := h.due(at)
		if !ok || got.at != at {
			t.Fatalf("timer %d is of %v, %v; want %v", i, got.at, ok, at)
		}
	}
	if _, ok := h.due(time.Hour); ok {
		t.Error("there is one more than was put in")
	}
}

func TestTheModelLives(t *testing.T) {
	m := model{nodes: 3, providers: 2}
	now := time.Now()
	first, again, next := m.snapshot("a", 1, 1, now, ""), m.snapshot("a", 1, 1, now, ""), m.snapshot("a", 1, 2, now, "")
	if !proto.Equal(first, again) {
		t.Error("the same step gives another snapshot")
	}
	if proto.Equal(first, next) {
		t.Error("the next step gives the same snapshot")
	}
	away := 0
	for step := range uint64(1000) {
		for _, n := range m.snapshot("a", 1, step, now, "").Nodes {
			if !n.Connected {
				away++
			}
			for _, p := range n.Providers {
				if g := p.General; g.GetInFlight() > g.GetCapacity() || !n.Connected && g != nil {
					t.Fatalf("provider %v of a node that is connected: %v", p, n.Connected)
				}
			}
		}
	}
	if away == 0 || away > 300 {
		t.Errorf("nodes were away %d of 3000 times", away)
	}
}
