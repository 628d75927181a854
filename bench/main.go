// Command bench prints what the Control Plane costs, beside a plain server of goroutines and a map (bench/baseline) that does
// the same job with the same codec, at several numbers of Edges: memory, CPU by what is done, times of what goes over the
// whole fleet. It tells which of the targets are held.
//
// Each server is a process of its own, built from this tree; Edges, HTTP callers and readers are in this one. Run it in the
// module's root (go run ./bench) on a machine that does nothing else. The lines that begin with Benchmark are for benchstat:
// benchstat -col '/server@(baseline control-plane)' FILE.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"iop/load/daemon"
)

// settings are how much is measured.
type settings struct {
	sizes     []int // Edges
	count     int   // how often each figure is measured that isn't measured once a rig
	shape     shape
	calls     int // HTTP calls a measurement, where many call at once
	frames    int // heartbeats or pushes a measurement, about
	idleTime  time.Duration
	eventTime time.Duration
	pause     time.Duration // before memory is freed and read; twice that between the two
}

func main() {
	set := settings{shape: shape{4, 2}, calls: 10_000, frames: 40_000, idleTime: 20 * time.Second, eventTime: 5 * time.Second, pause: time.Second}
	sizes := flag.String("sizes", "1000,5000,10000,19000", "numbers of Edges")
	only := flag.String("only", "", "measure the figures alone whose names begin with these words, separated by commas: "+strings.Join(names(figures()), ", "))
	flag.IntVar(&set.count, "count", 3, "how often a figure is measured; the median counts")
	page := flag.String("write", "", "write tables into this page between its marks, and a picture beside it")
	flag.Parse()
	err := set.check(*sizes, flag.Args())
	some, unknown := chosen(figures(), split(*only))
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("-only: there is no figure like %s", strings.Join(unknown, ", "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, &set, some, *page); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func names(all []figure) (names []string) {
	for _, f := range all {
		names = append(names, f.name)
	}
	return names
}

func split(words string) []string {
	return strings.FieldsFunc(words, func(r rune) bool { return r == ',' || r == ' ' })
}

// check reads the sizes.
func (s *settings) check(sizes string, rest []string) error {
	for _, word := range split(sizes) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > maxEdges {
			return fmt.Errorf("-sizes: %q is no number from 1 to %d", word, maxEdges)
		}
		s.sizes = append(s.sizes, n)
	}
	switch {
	case len(s.sizes) == 0:
		return fmt.Errorf("-sizes: there is none")
	case s.count < 1:
		return fmt.Errorf("-count: it must be 1 or more")
	case len(rest) > 0:
		return fmt.Errorf("what is %q?", rest[0])
	}
	return nil
}

func run(ctx context.Context, out io.Writer, set *settings, figures []figure, page string) error {
	dir, err := os.MkdirTemp("", "iop-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kinds, err := build(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprint(out, benchHead())
	r := newResults(out)
	for _, n := range set.sizes {
		if err := r.measure(ctx, set, figures, kinds, n); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n%s\nTargets:\n%s", machine(), r.table(figures), verdicts(r))
	if outlook := r.outlook(); outlook != "" {
		fmt.Fprint(out, "\n"+outlook)
	}
	if page == "" {
		return nil
	}
	return r.write(page, set, figures)
}

// build makes both servers, in the module's root or below.
func build(ctx context.Context, dir string) ([]kind, error) {
	build := exec.CommandContext(ctx, "go", "build", "-o", dir, "iop/cmd/iop-control-plane", "iop/bench/baseline")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the servers: %w", err)
	}
	return []kind{
		controlPlane(filepath.Join(dir, "iop-control-plane")),
		{baseline, daemon.Options{Bin: filepath.Join(dir, "baseline")}},
	}, nil
}
