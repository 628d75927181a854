package main

import (
	"errors"

	"github.com/spf13/cobra"

	"iop/configs"
)

// flags are the command line's part of the configuration.
type flags struct {
	config        configPath
	dev           bool
	given         map[string]string // configs' overrides that were given, by flag
	addressesFile string
	env           func(string) string
}

// register adds the flags to the root command. Those of the configuration hold for its subcommands
// too, before or behind their names.
func (f *flags) register(root *cobra.Command) {
	shared := root.PersistentFlags()
	shared.Var(&f.config, "config", "read the YAML file at `path` (default "+configs.ControlPlaneFile+" if it exists)")
	shared.BoolVar(&f.dev, "dev", false, "other built-in defaults: all listeners on loopback, console log")
	for _, o := range configs.ControlPlaneOverrides {
		if o.Flag == "" {
			continue
		}
		flag := shared.VarPF(overrideFlag{o, f.given}, o.Flag, "", o.Usage)
		if o.Bool {
			flag.NoOptDefVal = "true"
		}
	}
	root.Flags().StringVar(&f.addressesFile, "addresses-file", "",
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

// overrideFlag takes any text: configs checks it like a value of the file.
type overrideFlag struct {
	override configs.Override
	given    map[string]string
}

func (o overrideFlag) String() string { return "" }
func (o overrideFlag) Type() string {
	if o.override.Bool {
		return "bool"
	}
	return "text"
}
func (o overrideFlag) Set(text string) error {
	o.given[o.override.Flag] = text
	return nil
}
