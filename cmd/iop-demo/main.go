// Command iop-demo runs a small made-up fleet against a Control Plane: a few Edges in one process, with nodes that
// live a little. It is what "make run" shows.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	maxEdges = 1000
	// defaultSeed is one whose first node is well for the first minutes, so that what a newcomer tries first works.
	defaultSeed = 352
)

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var f fleet
	c := &cobra.Command{
		Use:   "iop-demo",
		Short: "Run a made-up fleet of Edges against a Control Plane",
		Long: `Runs a few Edges in one process, until SIGTERM or SIGINT. Their nodes and providers are made up: requests
come and go, now and then a provider or a node goes away and comes back. The same seed gives the same
fleet and the same fate.

Operations: edge.ping; on a node model.load with {"model": "name"}, node.restart, node.drain and node.resume.`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		PreRunE: func(*cobra.Command, []string) error {
			if f.edges < 1 || f.edges > maxEdges {
				return fmt.Errorf("--edges %d is not 1 to %d", f.edges, maxEdges)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, os.Interrupt)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal then ends the process at once
			return f.run(ctx, newLogger(cmd.ErrOrStderr()))
		},
	}
	c.Flags().StringVar(&f.edgeWire, "edge-wire", "127.0.0.1:19081", "the Edge wire of the Control Plane, `host:port`")
	c.Flags().IntVar(&f.edges, "edges", 5, "how many Edges")
	c.Flags().Uint64Var(&f.seed, "seed", defaultSeed, "what makes the fleet and its fate")
	f.tick = time.Second
	return c
}
