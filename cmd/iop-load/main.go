// Command iop-load connects many simulated Edges to a Control Plane, puts load on it by schedule, disturbs it as a scenario
// says, and reports what it found: latencies, errors, and every answer that was lost, duplicated or misrouted.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
	"iop/configs"
)

// Exit codes beside those that all commands have.
const (
	exitThreshold   = 99  // a threshold doesn't hold
	exitInterrupted = 130 // ended before its time; the report was printed
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}

// run is the whole program but for the process: it gives the exit code.
func run(args []string, stdout, stderr io.Writer, env func(string) string) int {
	c := &command{env: env, given: map[string]string{}, stdout: stdout, stderr: stderr}
	if code := program.Run(c.cobra(), args, stdout, stderr); code != program.ExitOK {
		return code
	}
	return c.exit
}

func (c *command) cobra() *cobra.Command {
	root := &cobra.Command{
		Version: build.Version(),
		Use:     "iop-load [scenario]",
		Short:   "Load a Control Plane with many simulated Edges",
		Long: `Connects simulated Edges to a Control Plane and sends them status requests and commands through it, on a schedule that doesn't
wait for answers; times count from the moment a request was due. Every answer is checked against what the Edges sent: an answer
that is lost, duplicated or misrouted, a command that runs twice, or an event out of order or skipped fails the run.

A scenario is the name of a built-in one ("iop-load list" shows them) or the path of a YAML file; without one, the flags say all.
Flags override the scenario.

Tokens, where the Control Plane wants them: IOP_EDGE_TOKEN for the Edges' hellos, IOP_TOKEN for HTTP and Clients.

Exit code: 0 when every threshold holds, 99 when one doesn't, 130 when it was interrupted, 2 for a mistake in the
command line or the scenario, 1 for any other failure.`,
		Example: `  iop-load --edges 5000 --status-rate 500 --command-rate 50 --duration 30s
  iop-load reconnect-storm --report out.html --report out.json
  iop-load rolling-restart --daemon bin/iop-control-plane
  iop-load steady --duration 1m --threshold 'status.p99<20ms' --threshold 'errors<0.1%'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MaximumNArgs(1)(cmd, args); err != nil {
				return program.Usage(err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.scenario = args[0]
			}
			return c.load(cmd.Context())
		},
	}
	c.register(root)
	root.AddCommand(listCommand(), program.VersionCommand())
	return root
}

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the built-in scenarios",
		Args:  program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range configs.LoadScenarioNames() {
				s, err := configs.LoadScenarioOf(name, nil)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s: %d Edges, %s\n", name, s.Description, s.Edges.Count, s.Traffic.Duration)
			}
			return nil
		},
	}
}
