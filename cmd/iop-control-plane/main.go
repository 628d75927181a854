// Command iop-control-plane is the daemon: it reads its configuration, wires the actors and fronts
// together and runs until it is told to stop.
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
	f := &flags{env: env, given: map[string]string{}}
	root := &cobra.Command{
		Version: build.Version(),
		Use:     "iop-control-plane",
		Short:   "Knows which Edges are connected, asks them, passes commands on",
		Long: `Runs the control plane in the foreground, until SIGTERM or SIGINT.

Configuration: built-in defaults, then the YAML file, then the environment (IOP_...), then flags;
a later one wins. The file is that of --config, else ` + configs.ControlPlaneFile + ` if it exists.`,
		Args: program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, f.addressesFile, f.load, cmd.ErrOrStderr())
		},
	}
	f.register(root)
	root.AddCommand(configCommand(f), tokenCommand(), program.VersionCommand())
	return root
}
