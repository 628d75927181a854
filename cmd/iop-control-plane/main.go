// Command iop-control-plane is the daemon: it reads its configuration, wires the actors and fronts
// together and runs until it is told to stop.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iop/cmd/internal/program"
	"iop/configs"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // something went wrong while it ran, such as a listen address that is taken
	exitUsage  = 2 // the command line or the configuration is wrong; nothing was started
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}

// run is the whole program but for the process: it gives the exit code.
func run(args []string, stdout, stderr io.Writer, env func(string) string) int {
	root := rootCommand(env)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	if problems := (configs.Problems)(nil); errors.As(err, &problems) {
		fmt.Fprintln(stderr, problems) // lines of file:line, to be read by an editor too
		return exitUsage
	}
	fmt.Fprintln(program.LastWords(stderr), "iop-control-plane:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintln(stderr, `"iop-control-plane --help" tells what there is.`)
		return exitUsage
	}
	return exitFailed
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

func rootCommand(env func(string) string) *cobra.Command {
	f := &flags{env: env, given: map[string]string{}}
	root := &cobra.Command{
		Version: version,
		Use:     "iop-control-plane",
		Short:   "Knows which Edges are connected, asks them, passes commands on",
		Long: `Runs the control plane in the foreground, until SIGTERM or SIGINT.

Configuration: built-in defaults, then the YAML file, then the environment (IOP_...), then flags;
a later one wins. The file is that of --config, else ` + configs.ControlPlaneFile + ` if it exists.`,
		Args:          noArgs,
		SilenceErrors: true, // run tells errors, once and to stderr
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.load()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, f.addressesFile, f.load, cmd.ErrOrStderr())
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f.register(root)
	root.AddCommand(configCommand(f), tokenCommand(), versionCommand())
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}
