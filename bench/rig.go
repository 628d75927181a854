package main

import (
	"context"
	"fmt"
	"time"
)

// rig is one of the servers, running, with its Edges connected.
type rig struct {
	*server
	name  string
	set   *settings
	fleet *fleet

	empty  usage         // settled, before the Edges
	joined time.Duration // how long they took to connect
	hellos time.Duration // CPU of the server meanwhile
}

// openRig returns when all n Edges have been answered. They send heartbeats from then on.
func openRig(ctx context.Context, set *settings, k kind, n int) (*rig, error) {
	ctx, cancel := context.WithTimeout(ctx, figureTime)
	defer cancel()
	server, err := start(k.options)
	if err != nil {
		return nil, err
	}
	s := &rig{server: server, name: k.name, set: set}
	if err := s.open(ctx, n); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *rig) open(ctx context.Context, n int) (err error) {
	// What the first connections and scrapes make once is no Edge's cost.
	if err := s.warmUp(ctx, min(n, warmEdges), s.set.shape); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	if s.empty, err = s.settled(ctx, s.set.pause); err != nil {
		return err
	}
	if s.fleet, err = newFleet(s.edgeWire, n, s.set.shape); err != nil {
		return err
	}
	defer s.fleet.within(ctx)()
	s.hellos, s.joined, err = s.spent(func() error { return s.fleet.connect(ctx) })
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	s.fleet.beating.Go(s.fleet.beat)
	return nil
}

// edges is how many there are.
func (s *rig) edges() int { return len(s.fleet.all) }

// spent gives the CPU that the server used while f ran, and how long that took.
func (s *rig) spent(f func() error) (cpu, took time.Duration, err error) {
	before, err := cpuOf(s.Process())
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	after, err := cpuOf(s.Process())
	return after - before, took, err
}

func (s *rig) close() {
	if s.fleet != nil {
		s.fleet.close()
	}
	s.server.Close()
}
