package program

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
	"iop/configs"
)

func TestRun(t *testing.T) {
	problems := configs.Problems{{Source: "cp.yaml", Line: 3, Key: "log.level", Text: "is odd"}}
	for name, c := range map[string]struct {
		args []string
		err  error
		exit int
		said []string // lines
	}{
		"well":            {exit: ExitOK},
		"a failure":       {err: errors.New("no luck"), exit: ExitFailed, said: []string{"prog: no luck"}},
		"of elsewhere":    {err: errors.New("it said \x1b[2J\nand more"), exit: ExitFailed, said: []string{"prog: it said  [2J", "and more"}},
		"wrong use":       {err: Usage(errors.New("odd")), exit: ExitUsage, said: []string{"prog: odd", `Run "prog --help" for usage.`}},
		"no such flag":    {args: []string{"--nonsense"}, exit: ExitUsage, said: []string{"prog: unknown flag: --nonsense", `Run "prog --help" for usage.`}},
		"arguments":       {args: []string{"version", "x"}, exit: ExitUsage, said: []string{`prog: unknown command "x" for "prog version"`, `Run "prog --help" for usage.`}},
		"a configuration": {err: problems, exit: ExitUsage, said: []string{problems.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			root := &cobra.Command{Use: "prog", Args: NoArgs, RunE: func(*cobra.Command, []string) error { return c.err }}
			root.AddCommand(VersionCommand())
			var stdout, stderr bytes.Buffer
			if exit := Run(root, c.args, &stdout, &stderr); exit != c.exit {
				t.Errorf("exit code %d, want %d", exit, c.exit)
			}
			want := ""
			for _, line := range c.said {
				want += line + "\n"
			}
			if stderr.String() != want || stdout.Len() > 0 {
				t.Errorf("it said %q, and as data %q; want %q", stderr.String(), stdout.String(), want)
			}
		})
	}
}

func TestVersionCommand(t *testing.T) {
	root := &cobra.Command{Use: "prog"}
	root.AddCommand(VersionCommand())
	var stdout bytes.Buffer
	if exit := Run(root, []string{"version"}, &stdout, io.Discard); exit != ExitOK {
		t.Errorf("exit code %d", exit)
	}
	want := "version: " + build.Version() + "\ncommit: " + build.Commit() + "\ngo_version: " + runtime.Version() + "\n"
	if stdout.String() != want {
		t.Errorf("it printed %q, want %q", stdout.String(), want)
	}
}
