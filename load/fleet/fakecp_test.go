package fleet

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/load/ledger"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// patience bounds what a test waits for something that must come.
const patience = 10 * time.Second

// fakeCP is a Control Plane that does what a test says. It accepts every hello by itself.
type fakeCP struct {
	t         *testing.T
	listener  net.Listener
	heartbeat time.Duration
	peers     chan *peer // said hello, and were answered
	running   sync.WaitGroup
}

// peer is the fake's end of one Edge's connection.
type peer struct {
	cp    *fakeCP
	conn  net.Conn
	hello *iopv1.EdgeHelloRequest
	said  chan *iopv1.Envelope // closed at the end of the connection
	err   error                // that of the read which saw the end
	from  net.Addr
}

func startFakeCP(t *testing.T) *fakeCP {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cp := &fakeCP{t: t, listener: l, heartbeat: time.Hour, peers: make(chan *peer, 100)}
	cp.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			cp.running.Go(func() { cp.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); cp.running.Wait() })
	return cp
}

func (cp *fakeCP) serve(c net.Conn) {
	defer c.Close()
	frames := wire.NewFrameReader(c, wire.DefaultMaxFrameBytes)
	p := &peer{cp: cp, conn: c, said: make(chan *iopv1.Envelope, 1000), from: c.RemoteAddr()}
	defer close(p.said)
	for {
		frame, err := frames.Next()
		if err != nil {
			p.err = err
			return
		}
		m, err := wire.Decode(frame)
		if err != nil {
			cp.t.Errorf("an Edge sent what can't be decoded: %v", err)
			return
		}
		if hello := m.GetEdgeHelloRequest(); hello != nil {
			p.hello = hello
			p.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{
				HeartbeatInterval: durationpb.New(cp.heartbeat), ServerTime: timestamppb.Now()}}})
			cp.peers <- p
			continue
		}
		p.said <- m
	}
}

func (p *peer) send(m *iopv1.Envelope) {
	frame, err := wire.AppendFrame(nil, m)
	if err == nil {
		_, err = p.conn.Write(frame)
	}
	if err != nil {
		p.cp.t.Logf("writing to an Edge: %v", err)
	}
}

func (p *peer) askStatus(id uint64) {
	p.send(&iopv1.Envelope{Id: id, Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}})
}

// peer gives the next connection that said hello.
func (cp *fakeCP) peer() *peer {
	cp.t.Helper()
	select {
	case p := <-cp.peers:
		return p
	case <-time.After(patience):
		cp.t.Fatal("no Edge said hello")
		return nil
	}
}

// hear gives the next message that is wanted; others are passed over.
func (p *peer) hear(what string, want func(*iopv1.Envelope) bool) *iopv1.Envelope {
	p.cp.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m, ok := <-p.said:
			if !ok {
				p.cp.t.Fatalf("the connection ended without %s", what)
			}
			if want(m) {
				return m
			}
		case <-timeout:
			p.cp.t.Fatalf("no %s came", what)
		}
	}
}

func (p *peer) answer(to uint64) *iopv1.Envelope {
	p.cp.t.Helper()
	return p.hear("answer", func(m *iopv1.Envelope) bool { return m.ReplyTo == to })
}

// ended waits for the end of the connection.
func (p *peer) ended() {
	p.cp.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-p.said:
			if !ok {
				return
			}
		case <-timeout:
			p.cp.t.Fatal("the connection doesn't end")
		}
	}
}

// startFleet connects one Edge, or more, to the fake.
func startFleet(t *testing.T, cp *fakeCP, change func(*Options)) *Fleet {
	o := Options{Address: cp.listener.Addr().String(), Count: 1, IDPrefix: "t-", Nodes: 2, Providers: 2,
		Reconnect: time.Millisecond, ReconnectMax: 10 * time.Millisecond, CommandPhaseDelay: time.Millisecond}
	if change != nil {
		change(&o)
	}
	o.Ledger = ledger.New(o.IDPrefix, o.Count)
	f := New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		f.Close(ctx)
	})
	f.Connect()
	return f
}
