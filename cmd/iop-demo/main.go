// Command iop-demo runs a small demo fleet against a Control Plane: a few Edges in one process, with nodes that
// live a little. It is what "make run" shows.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
	"iop/configs"
)

const (
	maxEdges = 1000
	// defaultSeed is one whose first node is well for the first minutes, so that what a newcomer tries first works.
	defaultSeed = 352
)

func main() {
	os.Exit(program.Run(command(), os.Args[1:], os.Stdout, os.Stderr))
}

func command() *cobra.Command {
	var f fleet
	c := &cobra.Command{
		Version: build.Version(),
		Use:     "iop-demo",
		Short:   "Run a demo fleet of Edges against a Control Plane",
		Long: `Runs a few Edges in one process, until SIGTERM or SIGINT. Their nodes and providers are made up: requests
come and go, and now and then a provider or a node goes away and comes back. The same seed makes the same
fleet with the same faults.

Operations: edge.ping; on a node model.load with {"model": "name"}, node.restart, node.drain and node.resume.`,
		Args: program.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if f.edges < 1 || f.edges > maxEdges {
				return program.Usage(fmt.Errorf("--edges %d is not 1 to %d", f.edges, maxEdges))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			// People are told of what is wrong, and not of what is as it should be.
			log, logWriter := program.NewSlog(configs.Log{Level: "warn", Format: "console"}, cmd.ErrOrStderr())
			defer logWriter.Close()
			ctx, stop := program.UntilSignal(cmd.Context())
			defer stop()
			return f.run(ctx, log)
		},
	}
	c.Flags().StringVar(&f.edgeWire, "edge-wire", "127.0.0.1:19081", "the Edge wire of the Control Plane, `host:port`")
	c.Flags().IntVar(&f.edges, "edges", 5, "how many Edges")
	c.Flags().Uint64Var(&f.seed, "seed", defaultSeed, "random seed: the same one makes the same fleet with the same faults")
	f.tick = time.Second
	c.AddCommand(program.VersionCommand())
	return c
}
