//go:build linux

// Command endure tests how a Control Plane stands up to faults and to time: "chaos" does faults to the daemon and to what connects to it,
// at random by a seed, and wants all to be well soon after each; "soak" loads it for long, and wants it to grow no larger. The
// daemon is the real one, built from this tree and run as a process of its own; docs/resilience.md has more. Run it in
// the module (go run ./endure chaos).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"iop/load/fleet"
)

// Exit codes.
const (
	exitHeld   = 0
	exitFailed = 1 // something did not hold, or the run couldn't be done
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errDidNotHold is told by the report.
var errDidNotHold = errors.New("not all held")

// A usageError is a mistake in the command line.
type usageError struct{ error }

// run is the whole program but for the process: it gives the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{Use: "endure", Short: "Test how a Control Plane stands up to faults and to time", SilenceErrors: true, SilenceUsage: true,
		Args: noArgs, RunE: func(*cobra.Command, []string) error { return usageError{errors.New("say what: chaos or soak")} }}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(chaosCommand(stderr), soakCommand(stderr))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitHeld
	case errors.Is(err, errDidNotHold):
		return exitFailed
	}
	fmt.Fprintln(stderr, "endure:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

// recoverTime is what the Control Plane is held to.
const recoverTime = 5 * time.Second

func chaosCommand(progress io.Writer) *cobra.Command {
	o := chaosOptions{real: 3, within: recoverTime, heartbeat: 2 * time.Second, progress: progress}
	path := ""
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Inject faults at random; everything must have recovered 5 s after each one's end",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.faults < 1 || o.edges < 1 || o.proxied < 1 || o.duration <= 0 {
				return usageError{errors.New("--faults, --edges, --proxied and --duration must be more than 0")}
			}
			if !cmd.Flags().Changed("seed") {
				o.seed = uint64(rand.Uint32())
			}
			if err := checkFileLimit(o.edges + 2*o.proxied); err != nil {
				return err
			}
			r, err := runChaos(cmd.Context(), o)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), r.text())
			return errors.Join(writeReport(path, r), held(r.OK))
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&o.seed, "seed", 0, "run the plan of this `number` (default: a random one, which is printed)")
	f.IntVar(&o.faults, "faults", 500, "how many faults")
	f.DurationVar(&o.duration, "duration", 10*time.Minute, "how long; that it takes over a tenth longer is a failure")
	f.IntVar(&o.edges, "edges", 300, "simulated Edges at the Edge wire")
	f.IntVar(&o.proxied, "proxied", 60, "simulated Edges behind the proxy")
	f.BoolVar(&o.race, "race", false, "build the daemon with the race detector, which needs a C compiler and makes it slower")
	f.StringVar(&path, "report", "", "write the report as JSON to this `file`")
	return cmd
}

func held(ok bool) error {
	if !ok {
		return errDidNotHold
	}
	return nil
}

func writeReport(path string, report any) error {
	if path == "" {
		return nil
	}
	content, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(content, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	return nil
}

// ownFiles is what this process needs beside its Edges.
const ownFiles = 3000

// checkFileLimit refuses a run that needs more descriptors than this process may have.
func checkFileLimit(edges int) error {
	limit, err := fleet.FileLimit()
	if err == nil && uint64(edges)+ownFiles > limit {
		err = usageError{fmt.Errorf("%d connections need some %d open files, and this process may have %d", edges, edges+ownFiles, limit)}
	}
	return err
}
