package actors

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// loopback is a real TCP connection.
func loopback(t testing.TB) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return server, client
}

// A heartbeat allocates nothing beside its decoding, whether or not its Pong carries a new interval, and wakes nobody.
func TestHeartbeatAllocatesNothing(t *testing.T) {
	server, client := loopback(t)
	go func() { _, _ = io.Copy(io.Discard, client) }()
	opts := testOptions()
	s := &System{opts: opts, clock: newClock(), counters: newCounters()}
	r := &reader{linkEvents: linkEvents{sys: s}, link: wire.NewTCPLink(server, &opts.Link, nil), pulse: &Pulse{}}
	r.helloTaken = true
	m := &iopv1.Ping{SentAt: timestamppb.Now()}
	frame, err := proto.Marshal(&iopv1.Envelope{Id: 7, Body: &iopv1.Envelope_Ping{Ping: m}})
	if err != nil {
		t.Fatal(err)
	}
	decoding := testing.AllocsPerRun(200, func() { _, _ = wire.Decode(frame) })
	for name, next := range map[string]func(int64){
		"as it was":  func(int64) {},
		"stretched ": func(n int64) { s.heartbeat.Store(n) },
	} {
		n := int64(time.Second)
		allocs := testing.AllocsPerRun(200, func() {
			n++
			next(n)
			if r.TakeFrame(frame, nil) != wire.ReadOn { // a message to the actor would be one to nobody: there is no pid
				t.Fatal("it isn't read on")
			}
		})
		wantEqual(t, name, allocs, decoding)
	}
}

// What every message through an Edge's actor costs beside the work itself.
func TestEmptyRequestTableAllocatesNothing(t *testing.T) {
	p := pending{limit: 4}
	ask := &statusAsk{}
	id, _ := p.add(ask, 10, 0)
	wantEqual(t, "allocations of a request and its answer", testing.AllocsPerRun(200, func() {
		p.take(id, 1)
		id, _ = p.add(ask, 10, 0)
	}), 0.0)
}

// serve answers a status request with bytes that are made once.
func serveStatus(conn net.Conn, id string) {
	frame, _ := wire.AppendFrame(nil, helloEnvelope(hello(id)))
	if _, err := conn.Write(frame); err != nil {
		return
	}
	frames := wire.NewFrameReader(conn, 1<<20)
	for {
		b, err := frames.Next()
		if err != nil {
			return
		}
		m, _ := wire.Decode(b)
		if m.GetEdgeStatusRequest() == nil {
			continue
		}
		a := bigStatus(id)
		a.ReplyTo = m.Id
		frame, _ = wire.AppendFrame(frame[:0], a)
		if _, err := conn.Write(frame); err != nil {
			return
		}
	}
}

// bigStatus is of 4 nodes with 2 providers each.
func bigStatus(id string) *iopv1.Envelope {
	m := &iopv1.EdgeStatusResponse{EdgeId: id, ObservedAt: timestamppb.Now()}
	for i := range 4 {
		n := &iopv1.EdgeNodeSnapshot{NodeId: fmt.Sprint("node-", i), Connected: true}
		for k := range 2 {
			n.Providers = append(n.Providers, &iopv1.EdgeProviderSnapshot{ProviderId: fmt.Sprint("vllm-", k), Type: "vllm", Models: []string{"a-model"},
				Status: available, General: &iopv1.ProviderCounters{Capacity: 8, InFlight: 3, Queued: 1}})
		}
		m.Nodes = append(m.Nodes, n)
	}
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: m}}
}

// BenchmarkStatus is a live status through a real connection; the Edge's own work is in the figures, too.
func BenchmarkStatus(b *testing.B) {
	s := NewSystem(testOptions())
	b.Cleanup(s.Stop)
	server, client := loopback(b)
	s.hellos <- struct{}{}
	s.root().Send(s.registry, &accepted{newcomer{conn: server}})
	go serveStatus(client, "e1")
	for s.Metrics().EdgesConnected == 0 {
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := s.Status(context.Background(), "e1", 10*time.Second); r.Fault != nil {
			b.Fatal(r.Fault)
		}
	}
}

// BenchmarkFleet is the registry's answer with 10,000 Edges in it, and reading it once through.
func BenchmarkFleet(b *testing.B) {
	opts := testOptions()
	opts.Table.MaxConnections = 20000
	s := NewSystem(opts)
	b.Cleanup(s.Stop)
	for i := range 10000 {
		s.root().Send(s.registry, &claimAsk{pid: s.events, hello: hello(fmt.Sprintf("edge-%05d", i)), pulse: &Pulse{}})
	}
	for s.Metrics().EdgesConnected < 10000 {
		time.Sleep(time.Millisecond)
	}
	for name, read := range map[string]func(*Fleet){
		"asked":  func(*Fleet) {},
		"listed": func(f *Fleet) { f.From("", func(v *View) bool { return f.State(v) != Disconnected }) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, fault := s.Fleet(context.Background())
				if fault != nil {
					b.Fatal(fault)
				}
				read(f)
			}
		})
	}
}

// BenchmarkPublish is an event on its way to the rings and to live readers who keep up.
func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 10, 100} {
		b.Run(fmt.Sprint(readers), func(b *testing.B) {
			v := newEvents(&System{opts: testOptions(), counters: newCounters()})
			v.history.happen("+e1")
			for range readers {
				s := &subscriber{live: make(chan *LiveEvent, SubscriberBuffer)}
				v.subscribers[s] = struct{}{}
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				v.publish(&publish{event: &Event{EdgeID: "e1", Kind: NodeReady}})
				if n%1024 == 0 {
					for s := range v.subscribers {
						for len(s.live) > 0 {
							<-s.live
						}
					}
				}
			}
			if len(v.subscribers) != readers {
				b.Fatal("a reader was cut off")
			}
		})
	}
}
