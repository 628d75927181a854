package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"iop/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(testkit.Cleaning{M: m}, map[string]func(){"iop": main})
}

// soon is a time by which everything here has happened, also on a busy machine.
const soon = 30 * time.Second

// TestScripts types what a person could type, in testdata/script, at a real daemon and real Edges:
//
//	daemon FLAGS...      starts a Control Plane for this script, which iop asks from then on
//	restart              crashes it and starts it again at the same addresses
//	edge ID [k=v...]     connects an Edge with these labels
//	leave ID             has it say goodbye
//	down ID NODE         takes one of its nodes away
//	exits CODE ARGS...   runs iop and wants that exit code; without a process of its own
//	until RE ARGS...     runs iop until its output matches
//	sees FILE RE         waits until a file matches that a program in the background writes
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"daemon": daemonCommand, "restart": restartCommand, "edge": edgeCommand, "leave": leaveCommand, "down": downCommand,
			"exits": exits, "until": until, "sees": sees,
		},
	})
}

func setup(env *testscript.Env) error {
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	env.Setenv("IOP_ADDR", "http://127.0.0.1:1") // a script that forgot its daemon meets nobody
	env.Values["fleet"] = &testFleet{}
	env.Defer(env.Values["fleet"].(*testFleet).stop)
	return nil
}

func fleetOf(ts *testscript.TestScript) *testFleet { return ts.Value("fleet").(*testFleet) }

func daemonCommand(ts *testscript.TestScript, _ bool, args []string) {
	f := fleetOf(ts)
	for i, arg := range args {
		if _, err := os.Stat(ts.MkAbs(arg)); err == nil {
			args[i] = ts.MkAbs(arg)
		}
	}
	ts.Check(f.start(args...))
	f.setenv(ts.Setenv)
}

func restartCommand(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(fleetOf(ts).restart()) }

func edgeCommand(ts *testscript.TestScript, _ bool, args []string) {
	labels := map[string]string{}
	for _, pair := range args[1:] {
		key, value, _ := strings.Cut(pair, "=")
		labels[key] = value
	}
	ts.Check(fleetOf(ts).connect(args[0], labels))
}

func leaveCommand(ts *testscript.TestScript, _ bool, args []string) { fleetOf(ts).leave(args[0]) }

func downCommand(ts *testscript.TestScript, _ bool, args []string) {
	if e := fleetOf(ts).edges[args[0]]; e == nil || !e.site.down(args[1]) {
		ts.Fatalf("there is no node %s", args)
	}
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: exits code args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := runIOP(ts, args[1:]); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// runIOP runs the program without a process of its own, which is quicker where hundreds are run.
func runIOP(ts *testscript.TestScript, args []string) int {
	return run(args, surroundings{stdout: ts.Stdout(), stderr: ts.Stderr(), env: ts.Getenv, stdin: strings.NewReader(""),
		configDir: func() (string, error) { return ts.Getenv("XDG_CONFIG_HOME"), nil }})
}

func until(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(soon); ; time.Sleep(100 * time.Millisecond) {
		var out bytes.Buffer
		run(args[1:], surroundings{stdout: &out, stderr: &out, env: ts.Getenv, stdin: strings.NewReader(""), configDir: os.UserConfigDir})
		if want.Match(out.Bytes()) {
			_, _ = ts.Stdout().Write(out.Bytes())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("iop %s never says %s", strings.Join(args[1:], " "), args[0])
		}
	}
}

func sees(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	for deadline := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if want.Match(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s never has %s, but\n%s", args[0], args[1], text)
		}
	}
}
