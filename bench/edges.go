package main

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// shape is how large a snapshot is.
type shape struct{ nodes, providers int }

func (s shape) snapshot(edgeID string) *iopv1.EdgeStatusResponse {
	m := &iopv1.EdgeStatusResponse{EdgeId: edgeID, ObservedAt: timestamppb.Now()}
	for i := range s.nodes {
		n := &iopv1.EdgeNodeSnapshot{NodeId: fmt.Sprintf("gpu-%d", i), Name: fmt.Sprintf("GPU host %d", i), Connected: true,
			Labels: map[string]string{"rack": fmt.Sprintf("r%d", i), "gpu": "h100"}}
		for j := range s.providers {
			n.Providers = append(n.Providers, &iopv1.EdgeProviderSnapshot{
				ProviderId: fmt.Sprintf("vllm-%d", j), Type: "vllm", Models: []string{"qwen3-32b", "llama-3.3-70b-instruct"},
				Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
				General:     &iopv1.ProviderCounters{Capacity: 32, InFlight: 7, Queued: 2},
				LongContext: &iopv1.ProviderCounters{Capacity: 4, InFlight: 1},
			})
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

func snapshotBytes(s shape) int {
	return wire.Size(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: s.snapshot(edgeID(0))}})
}

func edgeID(i int) string { return fmt.Sprintf("bench-%05d", i) }

// edges are connected ones. Each answers status requests, and all send heartbeats.
type edges struct {
	all     []*edge
	stop    chan struct{}
	running sync.WaitGroup
}

type edge struct {
	conn   net.Conn
	frames *wire.FrameReader
	write  sync.Mutex
	answer *iopv1.Envelope
}

const (
	dialers   = 64
	heartbeat = 15 * time.Second // the default of both servers
)

// connect returns when all have said hello and were answered.
func connect(address string, n int, s shape, pushes bool) (*edges, time.Duration, error) {
	all := &edges{all: make([]*edge, n), stop: make(chan struct{})}
	began := time.Now()
	var g errgroup.Group
	g.SetLimit(dialers)
	for i := range n {
		g.Go(func() (err error) {
			all.all[i], err = dial(address, edgeID(i), s, pushes)
			return err
		})
	}
	err := g.Wait()
	took := time.Since(began)
	if err != nil {
		all.close()
		return nil, 0, err
	}
	for _, e := range all.all {
		all.running.Go(e.serve)
	}
	all.running.Go(all.beat)
	return all, took, nil
}

func dial(address, id string, s shape, pushes bool) (*edge, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	e := &edge{conn: conn, frames: wire.NewFrameReader(conn, wire.DefaultMaxFrameBytes)}
	snapshot := &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: s.snapshot(id)}
	e.answer = &iopv1.Envelope{Body: snapshot}
	err = e.send(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: &iopv1.EdgeHelloRequest{
		EdgeId: id, Name: "bench", Version: "1", ProtocolVersion: 1, InstanceId: "bench"}}})
	if err == nil && pushes {
		err = e.send(e.answer)
	}
	if err == nil {
		var m *iopv1.Envelope
		if m, err = e.next(); err == nil && m.GetEdgeHelloResponse() == nil {
			err = errors.New("the hello was refused")
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return e, nil
}

func (e *edge) next() (*iopv1.Envelope, error) {
	frame, err := e.frames.Next()
	if err != nil {
		return nil, err
	}
	return wire.Decode(frame)
}

func (e *edge) send(m *iopv1.Envelope) error {
	e.write.Lock()
	defer e.write.Unlock()
	frame, err := wire.AppendFrame(nil, m)
	if err == nil {
		_, err = e.conn.Write(frame)
	}
	return err
}

// serve answers until the connection ends.
func (e *edge) serve() {
	for {
		m, err := e.next()
		if err != nil {
			return
		}
		if m.GetEdgeStatusRequest() == nil {
			continue
		}
		e.answer.ReplyTo = m.Id
		e.answer.GetEdgeStatusResponse().ObservedAt = timestamppb.Now()
		if e.send(e.answer) != nil {
			return
		}
	}
}

// beat spreads the heartbeats of all over the interval.
func (all *edges) beat() {
	const step = 50 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	ping := &iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}}
	began, sent := time.Now(), 0
	for {
		select {
		case <-all.stop:
			return
		case now := <-tick.C:
			due := int(float64(now.Sub(began)) / float64(heartbeat) * float64(len(all.all)))
			for ; sent < due; sent++ {
				_ = all.all[sent%len(all.all)].send(ping) // its reader sees the end
			}
		}
	}
}

func (all *edges) close() {
	close(all.stop)
	for _, e := range all.all {
		if e != nil {
			e.conn.Close()
		}
	}
	all.running.Wait()
}
