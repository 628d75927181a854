package edge

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

func TestHelloTellsWhoTheEdgeIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		token := "first"
		stop := startEdge(t, cp, Options{
			Name: "Seoul", Version: "1.2.3", Labels: map[string]string{"region": "kr"},
			Token:      func() (string, error) { return token, nil },
			Operations: map[string]Operation{"model.load": nothing},
		})
		p := cp.waitForHello()
		h := p.hello
		if h.EdgeId != "seoul-1" || h.Name != "Seoul" || h.Version != "1.2.3" || h.ProtocolVersion != 1 || h.Token != "first" ||
			h.Labels["region"] != "kr" || !equalStrings(h.Operations, "edge.ping", "model.load") || h.InstanceId == "" || h.StartedAt == nil {
			t.Errorf("hello is %v", h)
		}
		token = "second"
		_ = p.conn.Close()
		again := cp.waitForHello()
		if again.hello.Token != "second" {
			t.Error("the token is not read again at each hello")
		}
		if again.hello.InstanceId != h.InstanceId || !proto.Equal(again.hello.StartedAt, h.StartedAt) {
			t.Error("a reconnect looks like another process")
		}
		_ = again.conn.Close()
		stop()
	})
}

func TestStatusIsAnsweredAndPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, site := newFakeCP(t), newFakeSite(node("gpu-1", true, provider("vllm-0", Online, 3)))
		startEdge(t, cp, Options{Site: site})
		p := cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{})
		pushed, event := p.next(), p.next()
		if pushed.GetEdgeStatusResponse() == nil {
			pushed, event = event, pushed
		}
		if event.GetEdgeNodeEvent().GetKind() != iopv1.NodeEventKind_NODE_EVENT_KIND_READY {
			t.Errorf("got %v, want that the node is ready", event)
		}
		if s := pushed.GetEdgeStatusResponse(); s.GetEdgeId() != "seoul-1" || len(s.Nodes) != 1 || s.ObservedAt == nil || pushed.ReplyTo != 0 {
			t.Errorf("pushed %v", pushed)
		}
		p.send(&iopv1.Envelope{Id: 7, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}})
		answer := p.next()
		if s := answer.GetEdgeStatusResponse(); answer.ReplyTo != 7 || s.GetNodes()[0].GetProviders()[0].GetGeneral().GetInFlight() != 3 {
			t.Errorf("answered %v", answer)
		}
	})
}

func TestPushesAreAtMostOneASecondAndTheLastWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, site := newFakeCP(t), newFakeSite()
		startEdge(t, cp, Options{Site: site})
		p := cp.accept()
		begin := time.Now()
		for i := range 10 {
			site.set(node("gpu-1", false, provider("vllm-0", Online, uint32(i))))
			synctest.Wait()
		}
		push := p.next()
		if got := push.GetEdgeStatusResponse().GetNodes()[0].Providers[0].General.InFlight; got != 9 {
			t.Errorf("pushed the %d of ten changes, want the last", got)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("pushed after %v, want a second after the one before", d)
		}
		time.Sleep(5 * time.Second)
		begin = time.Now()
		site.set(node("gpu-1", false, provider("vllm-0", Online, 42)))
		p.next()
		if d := time.Since(begin); d != 0 {
			t.Errorf("a change after a quiet time waited %v", d)
		}
		site.set(node("gpu-1", false, provider("vllm-0", Online, 42)))
		p.quiet(5 * time.Second)
	})
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		startEdge(t, cp, Options{})
		p := cp.waitForHello()
		p.welcome(&iopv1.EdgeHelloResponse{HeartbeatInterval: durationpb.New(4 * time.Second)})
		p.next()
		begin := time.Now()
		ping := p.next()
		if ping.GetPing() == nil || ping.Id == 0 || time.Since(begin) != 4*time.Second {
			t.Fatalf("got %v after %v, want a ping after 4s", ping, time.Since(begin))
		}
		time.Sleep(time.Second)
		begin = time.Now()
		p.send(&iopv1.Envelope{ReplyTo: ping.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{HeartbeatInterval: durationpb.New(10 * time.Second)}}})
		if p.next().GetPing() == nil || time.Since(begin) != 10*time.Second {
			t.Fatalf("the next ping came %v after the pong, want 10s", time.Since(begin))
		}
		p.send(&iopv1.Envelope{Id: 99, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.New(time.Unix(5, 6))}}})
		pong := p.next()
		if pong.ReplyTo != 99 || pong.GetPong().GetSentAt().GetSeconds() != 5 {
			t.Errorf("a ping is answered %v", pong)
		}
		heard := time.Now()
		p.closed()
		if d := time.Since(heard); d != 25*time.Second {
			t.Errorf("closed after %v of silence, want 2.5 intervals", d)
		}
		_ = cp.waitForHello().conn.Close()
	})
}

func TestGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		stop := startEdge(t, cp, Options{})
		p := cp.accept()
		got := make(chan []*iopv1.Envelope)
		go func() { got <- p.closed() }()
		stop()
		last := <-got
		if len(last) != 1 || last[0].GetGoAway().GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING {
			t.Errorf("the Edge went with %v", last)
		}
	})
}
