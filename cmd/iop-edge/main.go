// Command iop-edge runs an Edge: a site whose nodes and providers are declared in a YAML file, and that a Control
// Plane may ask and command.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
	"iop/configs"
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
	load := func() (*configs.Edge, error) {
		return configs.LoadEdge(configs.Source{File: string(config), Env: env})
	}
	root := &cobra.Command{
		Version: build.Version(),
		Use:     "iop-edge",
		Short:   "Tells a Control Plane of a site's nodes and providers, and runs its commands",
		Long: `Runs an Edge in the foreground, until SIGTERM or SIGINT, whether or not its Control Plane can be
reached.

Configuration: built-in defaults, then the YAML file, then the environment (IOP_...); a later one
wins. The file is that of --config, else ` + configs.EdgeFile + ` if it exists.`,
		Args: program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, cmd.ErrOrStderr())
		},
	}
	root.PersistentFlags().Var(&config, "config", "read the YAML file at `path` (default "+configs.EdgeFile+" if it exists)")
	root.AddCommand(program.CheckCommand("built-in defaults and environment", func() (string, []string, error) {
		cfg, err := load()
		if err != nil {
			return "", nil, err
		}
		return cfg.File, cfg.Warnings(), nil
	}), statusCommand(load), program.VersionCommand())
	return root
}
