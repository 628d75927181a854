package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	iopv1 "iop/proto/iop/v1"
)

// fleet is many Edges of one server.
type fleet struct {
	address string
	all     []*edge
	pings   *semaphore.Weighted // counted Pings that are unanswered
	stop    chan struct{}
	beating sync.WaitGroup
	running sync.WaitGroup // the Edges' readers
}

const (
	dialers   = 64
	maxPings  = 64
	heartbeat = 15 * time.Second // the default of both servers
)

func edgeID(i int) string { return fmt.Sprintf("bench-%05d", i) }

// newFleet makes Edges that aren't connected yet.
func newFleet(address string, n int, s shape) (*fleet, error) {
	f := &fleet{address: address, all: make([]*edge, n), pings: semaphore.NewWeighted(maxPings), stop: make(chan struct{})}
	for i := range f.all {
		id := edgeID(i)
		snapshot, err := s.encoded(id)
		if err != nil {
			return nil, err
		}
		f.all[i] = &edge{f: f, number: i, id: id, snapshot: snapshot, dialer: dialerOf(address, i)}
	}
	return f, nil
}

// connect returns when all have said hello and were answered.
func (f *fleet) connect() error {
	var g errgroup.Group
	g.SetLimit(dialers)
	for _, e := range f.all {
		g.Go(e.dial)
	}
	return g.Wait()
}

// push sends every Edge's snapshot some times, and returns when the server has read them all.
func (f *fleet) push(times int) error {
	for range times {
		for _, e := range f.all {
			if err := e.push(); err != nil {
				return err
			}
		}
	}
	return f.ping(len(f.all))
}

// ping sends Pings of one Edge after the other, and returns when all are answered.
func (f *fleet) ping(pings int) error {
	ctx := context.Background() // as in dial
	for i := range pings {
		if err := f.all[i%len(f.all)].ping(ctx); err != nil {
			return err
		}
	}
	if err := f.pings.Acquire(ctx, maxPings); err != nil {
		return err
	}
	f.pings.Release(maxPings)
	return nil
}

// beat spreads the heartbeats of all over the interval, until the fleet is closed.
func (f *fleet) beat() {
	const step = 5 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	ping := &iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{}}}
	began, sent := time.Now(), 0
	for {
		select {
		case <-f.stop:
			return
		case now := <-tick.C:
			due := int(float64(now.Sub(began)) / float64(heartbeat) * float64(len(f.all)))
			for ; sent < due; sent++ {
				_ = f.all[sent%len(f.all)].send(ping) // whatever is measured sees the end
			}
		}
	}
}

func (f *fleet) cut() {
	for _, e := range f.all {
		e.cut()
	}
}

func (f *fleet) close() {
	close(f.stop)
	f.cut()
	f.beating.Wait()
	f.running.Wait()
}
