// Command iop-node runs a Node agent: it asks the providers of one machine how they are, and tells its Edge.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
	"iop/cmd/internal/probed"
	"iop/cmd/internal/program"
	"iop/configs"
	"iop/edge"
	"iop/edge/agent"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}

// run is the whole program but for the process: it gives the exit code.
func run(args []string, stdout, stderr io.Writer, env func(string) string) int {
	return program.Run(rootCommand(env), args, stdout, stderr)
}

func rootCommand(env func(string) string) *cobra.Command {
	var config program.ConfigPath
	load := func() (*configs.Node, error) {
		return configs.LoadNode(configs.Source{File: string(config), Env: env})
	}
	root := &cobra.Command{
		Version: build.Version(),
		Use:     "iop-node",
		Short:   "Tells an Edge of a machine's serving backends",
		Long: `Runs a Node agent in the foreground, until SIGTERM or SIGINT, whether or not its Edge can be
reached.

Configuration: built-in defaults, then the YAML file, then the environment (IOP_...); a later one
wins. The file is that of --config, else ` + configs.NodeFile + ` if it exists.`,
		Args: program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, cmd.ErrOrStderr())
		},
	}
	root.PersistentFlags().Var(&config, "config", "read the YAML file at `path` (default "+configs.NodeFile+" if it exists)")
	root.AddCommand(program.CheckCommand("built-in defaults and environment", func() (string, []string, error) {
		cfg, err := load()
		if err != nil {
			return "", nil, err
		}
		return cfg.File, cfg.Warnings(), nil
	}), program.VersionCommand())
	return root
}

// serve runs an agent until ctx or a signal ends it.
func serve(ctx context.Context, cfg *configs.Node, stderr io.Writer) error {
	log, logWriter := program.NewSlog(cfg.Log, stderr)
	defer logWriter.Close()
	for _, warning := range cfg.Warnings() {
		log.Warn(warning)
	}
	ctx, stop := program.UntilSignal(ctx)
	defer stop()
	site, err := edge.NewProbedSite(edge.ProbeOptions{
		Nodes:    []edge.ProbedNode{{ID: cfg.Node.ID, Providers: probed.Providers(cfg.Providers)}},
		Interval: cfg.Probe.Interval, Timeout: cfg.Probe.Timeout, Logger: log,
	})
	if err != nil {
		return err
	}
	a, err := agent.New(agent.Options{
		NodeID: cfg.Node.ID, Name: cfg.Node.Name, Version: build.Version(), Labels: cfg.Node.Labels,
		Address: cfg.Edge.Address, Token: cfg.ReadToken,
		ReconnectInitial: cfg.Edge.Reconnect.Initial, ReconnectMax: cfg.Edge.Reconnect.Max,
		Site: site, Logger: log,
	})
	if err != nil {
		return err
	}
	log.Info("The Node agent starts.", "node_id", cfg.Node.ID, "version", build.Version(), "providers", len(cfg.Providers))
	if err := a.Run(ctx); err != nil {
		return err
	}
	log.Info("The Node agent has stopped.")
	return nil
}
