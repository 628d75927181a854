package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func configCommand(f *flags) *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "Check or print the configuration",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("config needs a command: check or print")}
		},
	}
	config.AddCommand(
		&cobra.Command{
			Use:   "check",
			Short: "Check the configuration; exit code 0 or 2",
			Args:  noArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return checkConfig(cmd, f) },
		},
		&cobra.Command{
			Use:   "print",
			Short: "Print the configuration that is in force, as YAML, secrets as ***",
			Args:  noArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return printConfig(cmd, f) },
		},
	)
	return config
}

func checkConfig(cmd *cobra.Command, f *flags) error {
	cfg, err := f.load()
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings() {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
	}
	what := cfg.File
	if what == "" {
		what = "no file; built-in defaults, environment and flags"
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "OK:", what)
	return err
}

func printConfig(cmd *cobra.Command, f *flags) error {
	cfg, err := f.load()
	if err != nil {
		return err
	}
	text, err := cfg.Print()
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}
