package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"iop/load/measure"
)

// profileKind is one thing that the Control Plane's debug listener tells of the time in which it is asked.
type profileKind struct {
	name, ending string
	time         time.Duration
}

var busyProfiles = []profileKind{
	{"profile", "cpu.pprof", 10 * time.Second},
	{"allocs", "allocs.pprof", 5 * time.Second},
	{"mutex", "mutex.pprof", 5 * time.Second},
	{"block", "block.pprof", 5 * time.Second},
	{"trace", "trace.out", time.Second},
}

var heldProfile = profileKind{"heap", "heap.pprof", 0}

// runProfiles writes profiles of the Control Plane, each into a file of its own (status-cpu.pprof), and prints what an
// operation allocates.
func runProfiles(ctx context.Context, out io.Writer, set *settings, figures []figure, dir string) error {
	kinds, remove, err := build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	rigs, err := openRigs(ctx, set, kinds[:1], set.sizes[0])
	if err != nil {
		return err
	}
	defer closeRigs(rigs)
	s := rigs[0]
	if err := s.join(ctx); err != nil {
		return err
	}
	if err := s.beat(ctx); err != nil {
		return err
	}
	for _, f := range figures {
		if err := s.profile(ctx, out, f, dir); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// profile takes all kinds of one figure, one after the other: together they would be profiles of each other.
func (s *rig) profile(ctx context.Context, out io.Writer, f figure, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, figureTime)
	defer cancel()
	if f.holds {
		if _, err := f.repeat(ctx, s); err != nil {
			return err
		}
		return s.takeProfile(ctx, heldProfile, f, dir, nil)
	}
	objects, bytes, err := s.allocated(ctx, f)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-12s %10.1f objects/op %12.0f B/op\n", f.name, objects, bytes)
	if err := s.free(ctx); err != nil { // allocations are noted at the end of a collection: else this figure would have the last one's
		return err
	}
	for _, kind := range busyProfiles {
		busy := func() error { _, err := f.repeat(ctx, s); return err }
		if err := s.takeProfile(ctx, kind, f, dir, busy); err != nil {
			return err
		}
	}
	return nil
}

// takeProfile asks for a profile, and repeats what keeps the server busy until that is there.
func (s *rig) takeProfile(ctx context.Context, kind profileKind, f figure, dir string, busy func() error) error {
	url := s.debug + "/debug/pprof/" + kind.name
	if kind.time > 0 {
		url += fmt.Sprintf("?seconds=%.0f", kind.time.Seconds())
	}
	var content []byte
	taken := make(chan error, 1)
	go func() {
		var err error
		content, err = call(ctx, beside, http.MethodGet, url, "")
		taken <- err
	}()
	for busy != nil && len(taken) == 0 {
		if err := busy(); err != nil {
			<-taken
			return err
		}
	}
	if err := <-taken; err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, strings.ToLower(f.name)+"-"+kind.ending), content, 0o644)
}

// allocated gives what the server allocates for one operation, by Go's own counts.
func (s *rig) allocated(ctx context.Context, f figure) (objects, bytes float64, err error) {
	before, err := s.allocations(ctx)
	if err != nil {
		return 0, 0, err
	}
	operations, err := f.repeat(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	after, err := s.allocations(ctx)
	if err != nil {
		return 0, 0, err
	}
	n := float64(operations)
	return (after[0] - before[0]) / n, (after[1] - before[1]) / n, nil
}

func (s *rig) allocations(ctx context.Context) ([]float64, error) {
	page, err := call(ctx, beside, http.MethodGet, s.http+"/metrics", "")
	if err != nil {
		return nil, err
	}
	return measure.Metrics(page, "go_memstats_mallocs_total", "go_memstats_alloc_bytes_total")
}
