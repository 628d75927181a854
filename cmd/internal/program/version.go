package program

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
)

// VersionCommand prints the versions. commit is as the build set it, and may be empty.
func VersionCommand(version, commit string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "version: %s\ncommit: %s\ngo_version: %s\n", version, build.Commit(commit), runtime.Version())
			return err
		},
	}
}
