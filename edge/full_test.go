package edge

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestAControlPlaneThatDoesntReadIsLeft(t *testing.T) {
	ask := &iopv1.Envelope{Id: 6, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}}
	for name, c := range map[string]struct {
		bytes int // of a snapshot
		asks  int
		why   string
		wait  time.Duration
	}{
		"slowly":      {900_000, 1, "took nothing for too long", linkOptions.WriteTimeout},
		"fast":        {900_000, 40, "took nothing for too long", linkOptions.WriteTimeout},
		"without end": {1, 2 * linkOptions.MaxQueueFrames, "doesn't read what it is sent", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cp, log := newFakeCP(t), &syncBuffer{}
				site := newFakeSite(Node{ID: "n", Name: strings.Repeat("x", c.bytes)})
				startEdge(t, cp, Options{Site: site, Logger: slog.New(slog.NewTextHandler(log, nil))})
				p := cp.accept()
				frame, err := wire.AppendFrame(nil, ask)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				for range c.asks {
					_, _ = p.conn.Write(frame)
				}
				again := cp.waitForHello()
				if d := time.Since(begin); d < c.wait+time.Second || d > c.wait+2*time.Second {
					t.Errorf("it came back after %v", d)
				}
				if !strings.Contains(log.String(), c.why) {
					t.Errorf("the log says\n%s", log)
				}
				_ = p.conn.Close()
				_ = again.conn.Close()
			})
		})
	}
}

// Many who ask at once are answered all, with an Error where there is no room, and the connection goes on.
func TestManyQuestionsAtOnceEndNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newFakeCP(t)
		site := newFakeSite(Node{ID: "n", Name: strings.Repeat("x", 900_000)})
		startEdge(t, cp, Options{Site: site})
		p := cp.accept()
		const asks = 64
		for i := range uint64(asks) {
			p.send(&iopv1.Envelope{Id: i + 1, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}})
		}
		site.set(Node{ID: "m", Name: strings.Repeat("y", 900_000)})
		time.Sleep(2 * time.Second) // the push of it has no room, either
		answered, refused := map[uint64]bool{}, 0
		for range asks {
			e := p.nextBut()
			answered[e.ReplyTo] = true
			if e.GetError().GetCode() == iopv1.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED {
				refused++
			} else if e.GetEdgeStatusResponse() == nil {
				t.Errorf("got %v", e)
			}
		}
		if len(answered) != asks || refused == 0 || refused == asks {
			t.Errorf("%d of %d are answered, %d of them refused", len(answered), asks, refused)
		}
		if s := p.pushed(func(*iopv1.EdgeStatusResponse) bool { return true }); s.Nodes[0].NodeId != "m" {
			t.Errorf("pushed is %s", s.Nodes[0].NodeId)
		}
		p.command(100, call("c", "edge.ping"))
		if a := p.answer(100); a.Outcome != done {
			t.Errorf("edge.ping is answered %v", a)
		}
	})
}
