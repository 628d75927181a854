package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// maxEdges is the most that one process can be connected as, with 20,000 descriptors: callers and readers need some, too.
	maxEdges = 19_500
	// figureTime is the longest that one measurement may take, and the opening of a rig.
	figureTime = 3 * time.Minute
)

// together are the kinds of servers that are measured in turn, so that what else the machine does hits all of them: both
// where the Edges of both fit into this process, else one after the other.
func together(kinds []kind, edges int) [][]kind {
	if len(kinds)*edges <= maxEdges {
		return [][]kind{kinds}
	}
	var groups [][]kind
	for _, k := range kinds {
		groups = append(groups, []kind{k})
	}
	return groups
}

// measure takes all figures at one size.
func (r *results) measure(ctx context.Context, set *settings, figures []figure, kinds []kind, edges int) error {
	for _, group := range together(kinds, edges) {
		if err := r.measureGroup(ctx, set, figures, group, edges); err != nil {
			return err
		}
	}
	return nil
}

func (r *results) measureGroup(ctx context.Context, set *settings, figures []figure, kinds []kind, edges int) error {
	var rigs []*rig
	defer func() {
		for _, s := range rigs {
			s.close()
		}
	}()
	for _, k := range kinds {
		ctx, cancel := context.WithTimeout(ctx, figureTime)
		s, err := openRig(ctx, set, k, edges)
		cancel()
		if err != nil {
			return fmt.Errorf("%s with %d Edges: %w", k.name, edges, err)
		}
		rigs = append(rigs, s)
	}
	for _, f := range figures {
		repeats := set.count
		if f.once {
			repeats = 1
		}
		for range repeats {
			for _, s := range rigs {
				if err := r.take(ctx, s, f); err != nil {
					return fmt.Errorf("%s of %s with %d Edges: %w", f.name, s.name, edges, err)
				}
			}
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
