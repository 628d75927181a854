package program

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iop/configs"
)

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

// OverrideFlags adds the flags that overrides have; those that are given come into given, as text.
func OverrideFlags(flags *pflag.FlagSet, overrides []configs.Override, given map[string]string) {
	for _, o := range overrides {
		if o.Flag == "" {
			continue
		}
		flag := flags.VarPF(overrideFlag{o, given}, o.Flag, "", o.Usage)
		if o.Bool {
			flag.NoOptDefVal = "true"
		}
	}
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
