package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"iop/client"
)

// app is one run of the program.
type app struct {
	surroundings
	now func() time.Time // the Control Plane's clock once it was asked

	flags  flags
	asked  *target // the server in use, once it is known
	edge   string  // that the command is about; empty: none
	looks  looks   // of stdout
	format format
}

// flags are those of every command.
type flags struct {
	address, wire, context, caFile string
	output                         string
	absolute                       bool
}

func newApp(s surroundings) *app { return &app{surroundings: s, now: time.Now} }

func (a *app) register(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.flags.address, "addr", "", "the Control Plane's `address`, http://host:port (also IOP_ADDR)")
	f.StringVar(&a.flags.wire, "wire", "", "the Client wire's `URL` for hello, ws://host:port/client")
	f.StringVar(&a.flags.context, "context", "", "use the server of this `name`; see \"iop context\"")
	f.StringVar(&a.flags.caFile, "ca-file", "", "trust the authorities in this PEM `file` (also IOP_CA_FILE)")
	f.StringVarP(&a.flags.output, "output", "o", "table", "`format` of the data: table, wide, json, jsonl or yaml")
	f.BoolVar(&a.flags.absolute, "absolute", false, "show times in UTC instead of how long ago they were")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		a.looks = a.looksOf(a.stdout)
		if err := a.format.set(a.flags.output); err != nil {
			return &usageError{err, cmd.CommandPath()}
		}
		return nil
	}
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("context", a.completeContexts)
}

// looks is what a stream can show.
type looks struct {
	terminal bool
	color    bool
	width    int // 0: not bounded
}

func (a *app) looksOf(w io.Writer) looks {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return looks{}
	}
	l := looks{terminal: true, color: a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		l.width = width
	}
	return l
}

// say talks to whoever sits there.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// A usageError is a mistake in the command line.
type usageError struct {
	error
	command string
}

func (u *usageError) Unwrap() error { return u.error }

func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// labelFlag collects --label k=v.
type labelFlag map[string]string

func (l *labelFlag) String() string { return "" }
func (l *labelFlag) Type() string   { return "k=v" }
func (l *labelFlag) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("it is not key=value")
	}
	if *l == nil {
		*l = labelFlag{}
	}
	if had, ok := (*l)[key]; ok && had != value {
		return fmt.Errorf("no Edge has two values of %q", key)
	}
	(*l)[key] = value
	return nil
}

// choice is a flag with a fixed set of values.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("it is not one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = s
	return nil
}

// ageFlag is a duration of which 0 means something else than not given.
type ageFlag struct{ given *time.Duration }

func (f *ageFlag) String() string { return "" }
func (f *ageFlag) Type() string   { return "duration" }
func (f *ageFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return errors.New("it is not a duration such as 15s")
	}
	f.given = &d
	return nil
}

// statesOf names states for a choice.
func statesOf[S ~string](states ...S) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}

var (
	edgeStates      = statesOf(client.Connected, client.Stale, client.Disconnected)
	operationStates = statesOf(client.Pending, client.Sent, client.Accepted, client.Running, client.Succeeded, client.Failed,
		client.Rejected, client.Cancelled, client.Expired, client.Unknown)
)
