// Command bench prints what the Control Plane costs, beside a plain server of goroutines and a map (bench/baseline) that does
// the same job with the same codec, at several numbers of Edges: memory, CPU by what is done, times of what goes over the
// whole fleet. It tells which of the targets are held, and exits with 1 when one is not.
//
// Each server is a process of its own, built from this tree, and so are the Edges of each; HTTP callers and readers are in this one. Run it in the
// module's root (go run ./bench) on a machine that does nothing else. The lines that begin with Benchmark are for benchstat:
// benchstat -col '/server@(baseline control-plane)' FILE.
//
// With -profile it writes profiles of the Control Plane instead, taken while each figure is repeated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitHeld   = 0
	exitFailed = 1 // a target whose size was measured is not held, or the run couldn't be done
	exitUsage  = 2
)

// roundsToWrite are the fewest whose medians one slow minute doesn't move.
const roundsToWrite = 3

// settings are how much is measured.
type settings struct {
	sizes     []int // Edges
	count     int   // rounds
	shape     shape
	calls     int // HTTP calls a measurement, where many call at once
	frames    int // heartbeats or pushes a measurement, about
	idleTime  time.Duration
	eventTime time.Duration
	pause     time.Duration // before memory is freed and read; twice that between the two
	targets   []target
}

// errUsage is a mistake in the command line.
type errUsage struct{ error }

func main() {
	beFleet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := exitCode(command(ctx, os.Args[1:], os.Stdout, os.Stderr), os.Stderr)
	stop()
	os.Exit(code)
}

func exitCode(err error, stderr io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitHeld
	case errors.As(err, &errUsage{}):
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "bench:", err)
	return exitFailed
}

// command is the whole program but for the process.
func command(ctx context.Context, args []string, out, stderr io.Writer) error {
	set := settings{shape: shape{4, 2}, calls: 5_000, frames: 20_000, idleTime: 10 * time.Second, eventTime: 4 * time.Second, pause: time.Second, targets: targets}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("sizes", "1000,5000,10000,19000", "numbers of Edges")
	only := flags.String("only", "", "measure the figures alone whose names begin with these words, separated by commas: "+strings.Join(names(figures()), ", "))
	flags.IntVar(&set.count, "count", roundsToWrite, "rounds: how often a figure is measured; the median counts")
	page := flags.String("write", "", fmt.Sprintf("write tables into this page between its marks, and a picture beside it; -count must be %d or more", roundsToWrite))
	profiles := flags.String("profile", "", "write profiles of the Control Plane into this directory, instead; with one size")
	if err := flags.Parse(args); err != nil {
		return errUsage{err}
	}
	if err := set.check(*sizes, flags.Args()); err != nil {
		return errUsage{err}
	}
	some, unknown := chosen(figures(), split(*only))
	if len(unknown) > 0 {
		return errUsage{fmt.Errorf("-only: there is no figure like %s", strings.Join(unknown, ", "))}
	}
	if *page != "" && set.count < roundsToWrite {
		return errUsage{fmt.Errorf("-write takes medians of %d rounds or more: -count is %d", roundsToWrite, set.count)}
	}
	if *profiles == "" {
		return run(ctx, out, &set, some, *page)
	}
	if len(set.sizes) > 1 || *page != "" {
		return errUsage{errors.New("-profile takes one of -sizes, and writes no page")}
	}
	return runProfiles(ctx, out, &set, some, *profiles)
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
		return errors.New("-sizes: there is none")
	case s.count < 1:
		return errors.New("-count: it must be 1 or more")
	case len(rest) > 0:
		return fmt.Errorf("what is %q?", rest[0])
	}
	return nil
}
