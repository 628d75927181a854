package nodes

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var up = &iopv1.EdgeProviderSnapshot{
	ProviderId: "p", Type: "vllm", Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
	General: &iopv1.ProviderCounters{Capacity: 8, InFlight: 2},
}

func TestLifeOfANode(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		p := b.connect()
		if b.node("n").Connected || len(b.told()) != 0 {
			t.Error("connected before it is ready")
		}
		p.say(readyWith(up))
		if n := b.node("n"); !n.Connected || n.Providers[0].General.Capacity != 8 {
			t.Errorf("ready it is %+v", n)
		}
		p.say(updateWith(up, &iopv1.EdgeProviderSnapshot{ProviderId: "q"}))
		if n := b.node("n"); len(n.Providers) != 2 {
			t.Errorf("updated it is %+v", n)
		}
		b.mu.Lock()
		if b.changes != 4 { // the first look, the claim, ready, the update
			t.Errorf("%d changes", b.changes)
		}
		b.mu.Unlock()
		_ = p.conn.Close()
		if n := b.node("n"); n.Connected || n.Providers[0].Health != edge.Offline {
			t.Errorf("gone it is %+v", n)
		}
		if diff := cmp.Diff([]edge.Announcement{{NodeID: "n", Ready: true}, {NodeID: "n"}}, b.told()); diff != "" {
			t.Errorf("announced (-want +got):\n%s", diff)
		}
	})
}

func TestTakeover(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		older := b.connect()
		older.say(readyWith(up))
		b.told()
		p := b.dial()
		go p.say(hello("n", "s3cret"))
		if g := older.hear().GetGoAway(); g.GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED {
			t.Errorf("the older one was told %v", g)
		}
		if p.hear().GetNodeHelloResponse() == nil {
			t.Error("the newer one isn't welcome")
		}
		if b.node("n").Connected {
			t.Error("connected while its owner isn't ready")
		}
		// What the older one still says, and its end, are nothing.
		go func() { _, _ = older.conn.Write([]byte{0, 0, 0, 2, 0x62, 0}) }()
		synctest.Wait()
		_ = older.conn.Close()
		if b.node("n").Connected || len(b.told()) != 0 {
			t.Error("a stale word or close is seen")
		}
		p.say(readyWith(up))
		if !b.node("n").Connected {
			t.Error("not connected again")
		}
		if diff := cmp.Diff([]edge.Announcement{{NodeID: "n", Ready: true}}, b.told()); diff != "" {
			t.Errorf("announced (-want +got):\n%s", diff)
		}
	})
}

// Each case is what an agent says, and the Error that ends its connection.
func TestRefusals(t *testing.T) {
	many := func(n int) (all []*iopv1.EdgeProviderSnapshot) {
		for i := range n {
			all = append(all, &iopv1.EdgeProviderSnapshot{ProviderId: fmt.Sprint("p", i)})
		}
		return all
	}
	labels := map[string]string{}
	for i := range wire.MaxLabels + 1 {
		labels[fmt.Sprint(i)] = ""
	}
	long := strings.Repeat("x", wire.MaxTextBytes+1)
	greet := func(h *iopv1.NodeHelloRequest) *iopv1.NodeEnvelope {
		return &iopv1.NodeEnvelope{Id: 1, Body: &iopv1.NodeEnvelope_NodeHelloRequest{NodeHelloRequest: h}}
	}
	const (
		invalidArgument    = iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT
		failedPrecondition = iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION
		unauthenticated    = iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED
		permissionDenied   = iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED
	)
	for name, tt := range map[string]struct {
		first *iopv1.NodeEnvelope // instead of a hello
		then  *iopv1.NodeEnvelope // after a good one
		want  iopv1.ErrorCode
	}{
		"no hello":              {first: readyWith(up), want: failedPrecondition},
		"an id off the rule":    {first: hello("-", ""), want: invalidArgument},
		"a node not listed":     {first: hello("stranger", "s3cret"), want: permissionDenied},
		"no token":              {first: hello("n", ""), want: unauthenticated},
		"a wrong token":         {first: hello("n", "S3cret"), want: unauthenticated},
		"a later version":       {first: greet(&iopv1.NodeHelloRequest{NodeId: "free", ProtocolVersion: 2}), want: failedPrecondition},
		"a long name":           {first: greet(&iopv1.NodeHelloRequest{NodeId: "free", Name: long}), want: invalidArgument},
		"many labels":           {first: greet(&iopv1.NodeHelloRequest{NodeId: "free", Labels: labels}), want: invalidArgument},
		"a long label":          {first: greet(&iopv1.NodeHelloRequest{NodeId: "free", Labels: map[string]string{"k": long}}), want: invalidArgument},
		"a second hello":        {then: hello("n", "s3cret"), want: failedPrecondition},
		"an update before":      {then: updateWith(up), want: failedPrecondition},
		"many providers":        {then: readyWith(many(wire.MaxNodeProviders + 1)...), want: invalidArgument},
		"a provider twice":      {then: readyWith(up, up), want: invalidArgument},
		"a provider without id": {then: readyWith(&iopv1.EdgeProviderSnapshot{}), want: invalidArgument},
		"a long type":           {then: readyWith(&iopv1.EdgeProviderSnapshot{ProviderId: "p", Type: long}), want: invalidArgument},
		"many models":           {then: readyWith(&iopv1.EdgeProviderSnapshot{ProviderId: "p", Models: make([]string, maxModels+1)}), want: invalidArgument},
		"a long model":          {then: readyWith(&iopv1.EdgeProviderSnapshot{ProviderId: "p", Models: []string{long}}), want: invalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, func(t *testing.T, b *bench) {
				var p *peer
				if tt.first != nil {
					p = b.dial()
					p.say(tt.first)
				} else {
					p = b.connect()
					p.say(tt.then)
				}
				if e := p.hear(); e.GetError().GetCode() != tt.want || e.GetError().GetMessage() == "" {
					t.Errorf("told %v, want %v", e, tt.want)
				}
				p.over()
				if len(b.told()) != 0 || b.node("n").Connected || b.node("free").Connected {
					t.Error("the refused one left a trace")
				}
			})
		})
	}
}

func TestFramesThatCantBeRead(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"no length":     {0, 0, 0, 0},
		"over 128 KiB":  {0, 2, 0, 1},
		"not decodable": {0, 0, 0, 1, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, func(t *testing.T, b *bench) {
				p := b.connect()
				p.say(readyWith(up))
				if _, err := p.conn.Write(bytes); err != nil {
					t.Fatal(err)
				}
				if e := p.hear(); e.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT {
					t.Errorf("told %v", e)
				}
				p.over()
				if b.node("n").Connected || len(b.told()) != 2 {
					t.Error("it is connected still")
				}
			})
		})
	}
}

func TestASecondReadyEndsIt(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		p := b.connect()
		p.say(readyWith(up))
		p.say(readyWith(up))
		if e := p.hear(); e.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_FAILED_PRECONDITION {
			t.Errorf("told %v", e)
		}
		p.over()
		if diff := cmp.Diff([]edge.Announcement{{NodeID: "n", Ready: true}, {NodeID: "n"}}, b.told()); diff != "" {
			t.Errorf("announced (-want +got):\n%s", diff)
		}
	})
}

func TestHeartbeats(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		p := b.connect()
		p.say(readyWith(up))
		sent := timestamppb.Now()
		for range 5 {
			time.Sleep(12 * time.Second) // under 2.5 intervals
			p.say(&iopv1.NodeEnvelope{Id: 7, Body: &iopv1.NodeEnvelope_Ping{Ping: &iopv1.Ping{SentAt: sent}}})
			if e := p.hear(); e.GetReplyTo() != 7 || e.GetPong() == nil {
				t.Fatalf("answered %v", e)
			}
		}
		if !b.node("n").Connected {
			t.Error("a node that gives signs of life is gone")
		}
		time.Sleep(12500*time.Millisecond + time.Second)
		if b.node("n").Connected || len(b.told()) != 2 {
			t.Error("a silent node is connected still")
		}
		p.over()
	})
}

func TestNoHelloInTime(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		p := b.dial()
		time.Sleep(helloTimeout + time.Second)
		p.over()
	})
}

func TestWhatIsntKnown(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		p := b.connect()
		p.say(&iopv1.NodeEnvelope{Id: 9})
		if e := p.hear(); e.GetReplyTo() != 9 || e.GetError().GetCode() != iopv1.ErrorCode_ERROR_CODE_UNIMPLEMENTED {
			t.Errorf("answered %v", e)
		}
		p.say(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_Error{Error: &iopv1.Error{}}})
		p.say(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_Pong{Pong: &iopv1.Pong{}}})
		p.say(&iopv1.NodeEnvelope{Id: 9, ReplyTo: 3})
		p.say(readyWith(up))
		if !b.node("n").Connected {
			t.Error("it didn't go on")
		}
		p.say(&iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN}}})
		if b.node("n").Connected {
			t.Error("connected after its goodbye")
		}
		p.over()
	})
}

func TestTheEdgeStops(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		p := b.connect()
		p.say(readyWith(up))
		b.told()
		silent := b.dial()
		b.end()
		if g := p.hear().GetGoAway(); g.GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN {
			t.Errorf("told %v", g)
		}
		_ = p.conn.Close()
		began := time.Now()
		<-b.ended // also with one that reads nothing
		if took := time.Since(began); took > 2*stopTime {
			t.Errorf("it took %v", took)
		}
		if !b.node("n").Connected || len(b.told()) != 0 {
			t.Error("a node is told to be lost because its Edge stops")
		}
		_ = silent.conn.Close()
	})
}

func TestAFullSiteWaits(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		room := 2*len(b.site.declared) + spareConnections
		for range room {
			b.dial()
		}
		synctest.Wait()
		late := make(chan *peer)
		began := time.Now()
		go func() { late <- b.dial() }()
		p := <-late // once one that says nothing has ended
		if took := time.Since(began); took < helloTimeout-time.Second || took > helloTimeout+time.Second {
			t.Errorf("let in after %v", took)
		}
		p.say(hello("n", "s3cret"))
		if p.hear().GetNodeHelloResponse() == nil {
			t.Error("not welcome")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	_, err := New(Options{Nodes: []Node{{ID: "a"}, {ID: "a"}, {ID: "-"}}})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("error %v, want two", err)
	}
}
