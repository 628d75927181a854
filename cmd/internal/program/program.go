// Package program is what the long-running commands of a site have in common: how they are called, logged and ended.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"iop/configs"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2 // the command line or the configuration is wrong; nothing was started
)

// Run runs a command and gives the exit code. Errors are told here, once and to stderr.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return ExitOK
	}
	if problems := (configs.Problems)(nil); errors.As(err, &problems) {
		fmt.Fprintln(stderr, problems) // lines of file:line, to be read by an editor too
		return ExitUsage
	}
	fmt.Fprintf(LastWords(stderr), "%s: %v\n", root.Name(), err)
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "%q tells what there is.\n", root.Name()+" --help")
		return ExitUsage
	}
	return ExitFailed
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

// Usage marks an error as a mistake in the command line.
func Usage(err error) error { return usageError{err} }

// NoArgs is for commands that take none.
func NoArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

// ConfigPath is the value of --config. It refuses the empty path, which configs takes for "not given": --config "$UNSET"
// must not quietly start another configuration.
type ConfigPath string

func (p *ConfigPath) String() string { return string(*p) }
func (p *ConfigPath) Type() string   { return "path" }
func (p *ConfigPath) Set(path string) error {
	if path == "" {
		return errors.New("it is empty; expected the path of a YAML file")
	}
	*p = ConfigPath(path)
	return nil
}

// CheckCommand only checks the configuration. load gives the file that was read, "" for none, and warnings.
func CheckCommand(load func() (file string, warnings []string, err error)) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration; exit code 0 or 2",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, warnings, err := load()
			if err != nil {
				return err
			}
			for _, warning := range warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
			}
			if file == "" {
				file = "no file; built-in defaults and environment"
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "OK:", file)
			return err
		},
	}
}

// VersionCommand prints the versions.
func VersionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the Go version",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "version: %s\ngo_version: %s\n", version, runtime.Version())
			return err
		},
	}
}
