package agent

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/edge"
	"iop/edge/nodes"
	"iop/wire"
)

// What takes time, on a fake clock: over pipes.

// pipes is a listener without a network, and the way to it.
type pipes struct {
	conns  chan net.Conn
	dialed int
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		p.dialed++
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// agentOver is an agent whose network is p.
func agentOver(t *testing.T, p *pipes) *Agent {
	t.Helper()
	a := newAgent(t, Options{Address: "edge.test:1", Site: &fixedSite{}})
	a.dial = p.dial
	return a
}

func TestHeartbeatsKeepAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		site, err := nodes.New(nodes.Options{Listener: p, Nodes: []nodes.Node{{ID: "n"}}, EdgeID: "e", HeartbeatInterval: 5 * time.Second, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		var told []edge.Announcement
		site.Announce(func(a edge.Announcement) { told = append(told, a) })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { site.Run(ctx, func() {}); close(ended) }()
		stop := start(t, agentOver(t, p))
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff([]edge.Announcement{{NodeID: "n", Ready: true}}, told); diff != "" || p.dialed != 1 {
			t.Errorf("%d connections in an hour; announced (-want +got):\n%s", p.dialed, diff)
		}
		stop()
		cancel()
		<-ended
	})
}

func TestStopWithoutAnEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop := start(t, agentOver(t, p))
		conn := <-p.conns
		defer conn.Close()
		if _, err := wire.NewFrameReader(conn, wire.MaxHelloBytes).Next(); err != nil { // and nothing is said to it
			t.Fatal(err)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// askedSite is a site that asks its provider every few seconds, and whose load stays the same.
type askedSite struct{ fixedSite }

const asks = 7 * time.Second

func (s *askedSite) Nodes() []edge.Node {
	nodes := s.fixedSite.Nodes()
	nodes[0].Providers[0].LoadAt = time.Now().Truncate(asks)
	return nodes
}

// How old a load is comes to the Edge though the load stays the same: a 0 says something of its own time alone.
func TestTheAgeOfALoadIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		const heartbeat = 5 * time.Second
		site, err := nodes.New(nodes.Options{Listener: p, Nodes: []nodes.Node{{ID: "n"}}, EdgeID: "e", HeartbeatInterval: heartbeat, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { site.Run(ctx, func() {}); close(ended) }()
		a := newAgent(t, Options{Address: "edge.test:1", Site: &askedSite{}})
		a.dial = p.dial
		stop := start(t, a)
		synctest.Wait()
		for range 20 {
			provider := site.Nodes()[0].Providers[0]
			at, last := provider.LoadAt, time.Now().Truncate(asks)
			if !at.Equal(at.Truncate(asks)) || at.After(last) || time.Since(at) > asks+heartbeat {
				t.Errorf("at %v the load is of %v", time.Now(), at)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
		}
		stop()
		synctest.Wait()
		if at := site.Nodes()[0].Providers[0].LoadAt; !at.IsZero() {
			t.Errorf("gone, its load is of %v", at)
		}
		cancel()
		<-ended
	})
}
