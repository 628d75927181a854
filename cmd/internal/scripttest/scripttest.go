// Package scripttest types what a user could type.
package scripttest

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Run runs the scripts in testdata/script. "exits 2 check" runs the program in a process of its own, by the name that TestMain
// has given to testscript, and wants that exit code.
func Run(t *testing.T, program string) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": func(ts *testscript.TestScript, _ bool, args []string) { exits(ts, program, args) },
		},
	})
}

func exits(ts *testscript.TestScript, program string, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: exits code args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(program, args[1:]...); err != nil {
		ended := (*exec.ExitError)(nil)
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		code = ended.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
