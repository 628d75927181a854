package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// rig is one of the servers, running, with its Edges.
type rig struct {
	*server
	name  string
	set   *settings
	fleet *fleetProcess

	empty  usage         // settled, before the Edges
	joined time.Duration // how long they took to connect
	hellos time.Duration // CPU of the server meanwhile
}

// openRigs starts all servers, in the order of their kinds. Their Edges are there and not yet connected.
func openRigs(ctx context.Context, set *settings, kinds []kind, n int) ([]*rig, error) {
	rigs := make([]*rig, len(kinds))
	var g errgroup.Group
	for i, k := range kinds {
		g.Go(func() (err error) {
			if rigs[i], err = openRig(ctx, set, k, n); err != nil {
				err = fmt.Errorf("%s: %w", k.name, err)
			}
			return err
		})
	}
	err := g.Wait()
	if err != nil {
		closeRigs(rigs)
	}
	return rigs, err
}

func closeRigs(rigs []*rig) {
	for _, s := range rigs {
		if s != nil {
			s.close()
		}
	}
}

func openRig(ctx context.Context, set *settings, k kind, n int) (*rig, error) {
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
	s.fleet, err = startFleet(ctx, FleetOrder{s.edgeWire, n, s.set.shape})
	return err
}

// join returns when all Edges have been answered. They send no heartbeats before beat.
func (s *rig) join(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, figureTime)
	defer cancel()
	s.hellos, s.joined, err = s.spent(func() error { return s.fleet.connect(ctx) })
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", s.name, err)
	}
	return nil
}

func (s *rig) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, figureTime)
	defer cancel()
	return s.fleet.beat(ctx)
}

// edges is how many there are.
func (s *rig) edges() int { return s.fleet.edges }

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
