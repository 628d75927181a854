// Command iop-edge runs an Edge: a site whose nodes and providers are declared in a YAML file, and that a Control
// Plane may ask and command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"iop/configs"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
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
	fmt.Fprintln(stderr, "iop-edge:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintln(stderr, `"iop-edge --help" tells what there is.`)
		return exitUsage
	}
	return exitFailed
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

func rootCommand(env func(string) string) *cobra.Command {
	var config configPath
	load := func() (*configs.Edge, error) {
		return configs.LoadEdge(configs.Source{File: string(config), Env: env})
	}
	root := &cobra.Command{
		Use:   "iop-edge",
		Short: "Tells a Control Plane of a site's nodes and providers, and runs its commands",
		Long: `Runs an Edge in the foreground, until SIGTERM or SIGINT, whether or not its Control Plane can be
reached.

Configuration: built-in defaults, then the YAML file, then the environment (IOP_...); a later one
wins. The file is that of --config, else ` + configs.EdgeFile + ` if it exists.`,
		Args:          noArgs,
		SilenceErrors: true, // run tells errors, once and to stderr
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, cmd.ErrOrStderr())
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().Var(&config, "config", "read the YAML file at `path` (default "+configs.EdgeFile+" if it exists)")
	root.AddCommand(checkCommand(load), versionCommand())
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

// configPath refuses the empty path, which configs takes for "not given": --config "$UNSET" must not
// quietly start another configuration.
type configPath string

func (p *configPath) String() string { return string(*p) }
func (p *configPath) Type() string   { return "path" }
func (p *configPath) Set(path string) error {
	if path == "" {
		return errors.New("it is empty; expected the path of a YAML file")
	}
	*p = configPath(path)
	return nil
}
