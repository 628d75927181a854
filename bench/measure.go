package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// maxEdges is the most that one process can be connected as, with 20,000 descriptors: callers and readers need some, too.
	maxEdges = 19_500
	// figureTime is the longest that one measurement may take, and the opening of a rig.
	figureTime = 3 * time.Minute
)

// measure takes every figure once a round, of each server and at each size. Rounds are the outermost, and each turns the servers'
// order around: what else the machine does for minutes hits all sizes and both servers, and shows as what a figure's samples
// differ by. Each server is started anew each time, and has the machine to itself.
func (r *results) measure(ctx context.Context, set *settings, figures []figure, kinds []kind) error {
	for round := range set.count {
		for _, edges := range set.sizes {
			for _, k := range inRound(kinds, round) {
				if err := r.measureOne(ctx, set, figures, k, edges); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// inRound is the order of a round: one after the other, and the other way round in every second one.
func inRound(kinds []kind, round int) []kind {
	order := slices.Clone(kinds)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}

func (r *results) measureOne(ctx context.Context, set *settings, figures []figure, k kind, edges int) error {
	s, err := openRig(ctx, set, k, edges)
	if err != nil {
		return fmt.Errorf("%s with %d Edges: %w", k.name, edges, err)
	}
	defer s.close()
	for _, f := range figures {
		if err := r.take(ctx, s, f); err != nil {
			return fmt.Errorf("%s of %s with %d Edges: %w", f.name, s.name, edges, err)
		}
	}
	return nil
}

// take measures a figure of a rig once, and prints it.
func (r *results) take(ctx context.Context, s *rig, f figure) error {
	ctx, cancel := context.WithTimeout(ctx, figureTime)
	defer cancel()
	defer s.fleet.within(ctx)()
	operations, values, err := f.measure(ctx, s)
	if err != nil {
		return err
	}
	for i, v := range values {
		r.add(place{f.name, f.per[i].name, s.edges(), s.name}, v)
	}
	fmt.Fprintln(r.out, benchLine(f.name, s.name, s.edges(), operations, f.per, values))
	return nil
}
