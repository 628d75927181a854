package program

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
)

// VersionCommand prints the versions.
func VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "version: %s\ncommit: %s\ngo_version: %s\n", build.Version(), build.Commit(), runtime.Version())
			return err
		},
	}
}
