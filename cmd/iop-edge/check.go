package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"iop/configs"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func checkCommand(load func() (*configs.Edge, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration; exit code 0 or 2",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			for _, warning := range cfg.Warnings() {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
			}
			what := cfg.File
			if what == "" {
				what = "no file; built-in defaults and environment"
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "OK:", what)
			return err
		},
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the Go version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "version: %s\ngo_version: %s\n", version, runtime.Version())
			return err
		},
	}
}
