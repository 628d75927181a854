package nodes

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"iop/edge"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

var quiet = slog.New(slog.DiscardHandler)

// pipes is a listener without a network, so that time can be the test's.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// bench is a running Site and what it told.
type bench struct {
	t     *testing.T
	site  *Site
	pipes *pipes
	end   context.CancelFunc
	ended chan struct{}

	mu        sync.Mutex
	announced []edge.Announcement
	changes   int
}

var secret = sha256.Sum256([]byte("s3cret"))

// onBench runs a test in a bubble, with a Site that has the nodes n (with a token) and free.
func onBench(t *testing.T, test func(*testing.T, *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, pipes: &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}, ended: make(chan struct{})}
		var err error
		b.site, err = New(Options{
			Listener: b.pipes, EdgeID: "seoul-1", Version: "v1", Logger: quiet,
			Nodes: []Node{{ID: "n", TokenSHA256: &secret}, {ID: "free"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		b.site.Announce(func(a edge.Announcement) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.announced = append(b.announced, a)
		})
		ctx, cancel := context.WithCancel(context.Background())
		b.end = cancel
		go func() {
			defer close(b.ended)
			b.site.Run(ctx, func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.changes++
			})
		}()
		test(t, b)
		cancel()
		<-b.ended
	})
}

// told gives what was announced since the last time.
func (b *bench) told() []edge.Announcement {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.announced
	b.announced = nil
	return a
}

// node is how a node looks now.
func (b *bench) node(id string) edge.Node {
	synctest.Wait()
	for _, n := range b.site.Nodes() {
		if n.ID == id {
			return n
		}
	}
	b.t.Fatalf("no node %q", id)
	return edge.Node{}
}

// peer is an agent, by hand.
type peer struct {
	t      *testing.T
	conn   net.Conn
	frames *wire.FrameReader
}

func (b *bench) dial() *peer {
	ours, theirs := net.Pipe()
	b.pipes.conns <- theirs
	b.t.Cleanup(func() { _ = ours.Close() })
	return &peer{b.t, ours, wire.NewFrameReader(ours, wire.DefaultMaxFrameBytes)}
}

// connect is an agent that was accepted.
func (b *bench) connect() *peer {
	b.t.Helper()
	p := b.dial()
	p.say(hello("n", "s3cret"))
	if h := p.hear().GetNodeHelloResponse(); h.GetEdgeId() != "seoul-1" || h.EdgeVersion != "v1" || h.ProtocolVersion != 1 ||
		h.HeartbeatInterval.AsDuration() != 5*time.Second || h.MaxFrameBytes != maxFrameBytes {
		b.t.Errorf("welcomed with %v", h)
	}
	return p
}

func (p *peer) say(e *iopv1.NodeEnvelope) {
	p.t.Helper()
	frame, err := wire.AppendFrame(nil, e)
	if err == nil {
		_, err = p.conn.Write(frame)
	}
	if err != nil {
		p.t.Errorf("saying %T: %v", e.Body, err) // also from goroutines, which must not end the test
	}
}

// hear gives the next message; nil when the connection has ended.
func (p *peer) hear() *iopv1.NodeEnvelope {
	p.t.Helper()
	payload, err := p.frames.Next()
	if err != nil {
		return nil
	}
	e, err := wire.DecodeNode(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// over wants the connection to end without another word.
func (p *peer) over() {
	p.t.Helper()
	if _, err := p.conn.Read(make([]byte, 1)); err != io.EOF {
		p.t.Errorf("the connection goes on: %v", err)
	}
}

func hello(node, token string) *iopv1.NodeEnvelope {
	return &iopv1.NodeEnvelope{Id: 1, Body: &iopv1.NodeEnvelope_NodeHelloRequest{NodeHelloRequest: &iopv1.NodeHelloRequest{NodeId: node, Token: token}}}
}

func readyWith(providers ...*iopv1.EdgeProviderSnapshot) *iopv1.NodeEnvelope {
	return &iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_NodeReady{NodeReady: &iopv1.NodeReady{Providers: providers}}}
}

func updateWith(providers ...*iopv1.EdgeProviderSnapshot) *iopv1.NodeEnvelope {
	return &iopv1.NodeEnvelope{Body: &iopv1.NodeEnvelope_NodeUpdate{NodeUpdate: &iopv1.NodeUpdate{Providers: providers}}}
}
