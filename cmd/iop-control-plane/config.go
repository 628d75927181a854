package main

import (
	"errors"

	"github.com/spf13/cobra"

	"iop/cmd/internal/program"
)

func configCommand(f *flags) *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "Check or print the configuration",
		Args:  program.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return program.Usage(errors.New("config needs a command: check or print"))
		},
	}
	config.AddCommand(
		program.CheckCommand("built-in defaults, environment and flags", func() (string, []string, error) {
			cfg, err := f.load()
			if err != nil {
				return "", nil, err
			}
			return cfg.File, cfg.Warnings(), nil
		}),
		&cobra.Command{
			Use:   "print",
			Short: "Print the configuration that a start would use, as YAML, secrets as ***",
			Args:  program.NoArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return printConfig(cmd, f) },
		},
	)
	return config
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
