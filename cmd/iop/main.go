// Command iop is the operator's command line: it asks a Control Plane about its Edges and has them run commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"iop/client"
	"iop/cmd/internal/build"
)

func main() {
	os.Exit(run(os.Args[1:], surroundings{os.Stdin, os.Stdout, os.Stderr, os.Getenv, os.UserConfigDir}))
}

// surroundings are what the program has of the process.
type surroundings struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	configDir      func() (string, error)
}

// run is the whole program but for the process: it gives the exit code.
func run(args []string, s surroundings) int {
	ctx, interrupted, stop := untilSignal(context.Background())
	defer stop()
	a := newApp(s)
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if code := interrupted(); err != nil && code != 0 {
		if sent := (*client.Uncertain)(nil); errors.As(err, &sent) { // a command that was let go of
			fmt.Fprint(s.stderr, a.explain(err).text())
		}
		return code
	}
	if err == nil {
		return exitOK
	}
	if key := (*interruptedError)(nil); errors.As(err, &key) {
		return exitSignal + int(syscall.SIGINT)
	}
	f := a.explain(err)
	fmt.Fprint(s.stderr, f.text())
	return f.exit
}

// untilSignal gives a context that the first SIGINT or SIGTERM ends, and what tells the exit code for that, 0 when there was
// none. The second signal ends the process at once.
func untilSignal(parent context.Context) (ctx context.Context, code func() int, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var got atomic.Int32
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				got.Store(exitSignal + int32(number))
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() int { return int(got.Load()) }, cancel
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Version: build.Version(),
		Use:     "iop",
		Short:   "Ask a Control Plane about its Edges, and have them run commands",
		Long: `iop asks a Control Plane about its Edges and has them run commands.

Which Control Plane: --addr or --context, else IOP_ADDR, else the context in use ("iop context"), else
http://127.0.0.1:18080. With --wire and no address it is the last of these. The token comes from IOP_TOKEN, else from the
context; an address from --addr or IOP_ADDR never gets a context's token.

Data goes to stdout, everything else to stderr. "iop help exit-codes" lists the exit codes.`,
		Example: `  iop fleet status --trouble
  iop status seoul-1
  iop events --follow`,
		SilenceErrors: true, // run tells errors, once and to stderr
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{err, cmd.CommandPath()} })
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.register(root)
	root.AddCommand(
		a.edgesCommand(), a.statusCommand(), a.fleetCommand(), a.eventsCommand(), a.opsCommand(), a.runCommand(),
		a.topCommand(), a.helloCommand(), a.contextCommand(), a.versionCommand(), exitCodesTopic(),
	)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	exampleCompletions(root)
	a.finish(root)
	return root
}

// helpCommand is cobra's, but for a command that there isn't: that is a mistake like any other.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Show the help of a command",
		Example: "  iop help fleet status\n  iop help exit-codes",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(cmd.Root(), "there is no %q to be helped with", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range about.Commands() {
					if !sub.Hidden {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func exampleCompletions(root *cobra.Command) {
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Example = "  iop completion bash > iop.bash"
	for _, shell := range completion.Commands() {
		shell.Example = fmt.Sprintf("  iop completion %s > iop.%[1]s", shell.Name())
	}
}

// finish gives every command what all have: mistakes in arguments are usage errors that say what was expected, and a group by
// itself shows its help.
func (a *app) finish(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.Args, c.RunE, c.DisableFlagsInUseLine = subcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }, true
	}
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if told := (*usageError)(nil); errors.As(err, &told) {
				return err
			}
			if err != nil {
				return usage(cmd, "%w; expected: %s", err, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
			}
			if len(args) > 0 && strings.Contains(cmd.Use, "EDGE") {
				a.edge = args[0]
			}
			return nil
		}
	}
	completeNoFiles(c)
	for _, sub := range c.Commands() {
		a.finish(sub)
	}
}

func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 1 // a letter
	if len(args[0]) >= 5 {
		cmd.SuggestionsMinimumDistance = 2 // or two that have changed places
	}
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		return usage(cmd, "there is no %q in %q; perhaps %s", args[0], cmd.CommandPath(), strings.Join(close, " or "))
	}
	return usage(cmd, "there is no %q in %q", args[0], cmd.CommandPath())
}
