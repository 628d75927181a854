package main

import (
	"github.com/spf13/cobra"

	"iop/cmd/internal/program"
	"iop/configs"
)

// flags are the command line's part of the configuration.
type flags struct {
	config        program.ConfigPath
	dev           bool
	given         map[string]string // configs' overrides that were given, by flag
	addressesFile string
	env           func(string) string
}

// register adds the flags to the root command. Those of the configuration hold for its subcommands
// too, before or after their names.
func (f *flags) register(root *cobra.Command) {
	shared := root.PersistentFlags()
	shared.Var(&f.config, "config", "read the YAML file at `path` (default "+configs.ControlPlaneFile+" if it exists)")
	shared.BoolVar(&f.dev, "dev", false, "other built-in defaults: all listeners on loopback, console log")
	program.OverrideFlags(shared, configs.ControlPlaneOverrides, f.given)
	shared.StringVar(&f.addressesFile, "addresses-file", "",
		"write the real listen addresses to `path`, as JSON, once all listen")
}

// load reads and checks the configuration; the daemon calls it again on SIGHUP.
func (f *flags) load() (*configs.ControlPlane, error) {
	return configs.LoadControlPlane(configs.Source{
		File:  string(f.config),
		Dev:   f.dev,
		Env:   f.env,
		Flags: f.given,
	})
}
