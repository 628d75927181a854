// Package program is what the long-running commands have in common: how they are called, what they say of mistakes and of their
// version, how they log, and how they end.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"iop/cmd/internal/terminal"
	"iop/configs"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1 // something went wrong while it ran, such as a listen address that is taken
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
	fmt.Fprintf(lastWords{stderr}, "%s: %s\n", root.Name(), terminal.Lines(err.Error())) // which may quote another process
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "Run %q for usage.\n", root.Name()+" --help")
		return ExitUsage
	}
	return ExitFailed
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

// Usage marks an error as a mistake in the command line.
func Usage(err error) error { return usageError{err} }

// CheckCommand only checks the configuration. load gives the file that was read, "" for none, and warnings; layers are what a
// configuration without a file is made of.
func CheckCommand(layers string, load func() (file string, warnings []string, err error)) *cobra.Command {
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
				file = "no file; " + layers
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "OK:", file)
			return err
		},
	}
}
