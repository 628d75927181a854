package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// maxEdges is the most Edges that one process can connect, with 20,000 descriptors.
	maxEdges = 19_500
	// figureTime is the longest that one measurement may take, and that all Edges may take to connect.
	figureTime = 3 * time.Minute
)

// measure takes every figure at each size in every round. Rounds are the outermost loop, so that whatever else the machine does for minutes
// hits all sizes, and shows in the spread of a figure's samples.
func (r *results) measure(ctx context.Context, set *settings, figures []figure, kinds []kind) error {
	for round := range set.count {
		for _, edges := range set.sizes {
			if err := r.measureSize(ctx, set, figures, kinds, edges, round); err != nil {
				return fmt.Errorf("%d Edges: %w", edges, err)
			}
		}
	}
	return nil
}

// measureSize starts all servers anew, and keeps each with its Edges to the end. A figure is measured in turns, of each server in
// each, one shortly after the other: neighbours on the machine, who change what CPU takes from minute to minute, then do the same to both.
func (r *results) measureSize(ctx context.Context, set *settings, figures []figure, kinds []kind, edges, round int) error {
	rigs, err := openRigs(ctx, set, kinds, edges)
	if err != nil {
		return err
	}
	defer closeRigs(rigs)
	for _, s := range inTurn(rigs, round) {
		if err := s.join(ctx); err != nil {
			return err
		}
	}
	for _, s := range rigs { // not before: the heartbeats of one would take time from the hellos of the other
		if err := s.beat(ctx); err != nil {
			return err
		}
	}
	for _, f := range figures {
		for turn := range f.turnsARound() {
			if err := r.take(ctx, f, inTurn(rigs, round+turn)); err != nil {
				return fmt.Errorf("%s of %w", f.name, err)
			}
		}
	}
	return nil
}

// inTurn is the order of a turn: one after the other, and the other way round in every second one.
func inTurn(rigs []*rig, turn int) []*rig {
	order := slices.Clone(rigs)
	if turn%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

// take measures a figure of each rig once, and prints it.
func (r *results) take(ctx context.Context, f figure, rigs []*rig) error {
	operations, values := make([]int, len(rigs)), make([][]float64, len(rigs))
	g, ctx := errgroup.WithContext(ctx)
	if !f.atOnce {
		g.SetLimit(1)
	}
	for i, s := range rigs {
		g.Go(func() (err error) {
			ctx, cancel := context.WithTimeout(ctx, figureTime)
			defer cancel()
			if operations[i], values[i], err = f.measure(ctx, s); err != nil {
				err = fmt.Errorf("%s: %w", s.name, err)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, s := range rigs {
		for j, v := range values[i] {
			r.add(place{f.name, f.per[j].name, s.edges(), s.name}, v)
		}
		fmt.Fprintln(r.out, benchLine(f.name, s.name, s.edges(), operations[i], f.per, values[i]))
	}
	return nil
}
