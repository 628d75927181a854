package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scratch has what the tests build.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv("TESTSCRIPT_COMMAND") == "" {
		dir, err := os.MkdirTemp("", "iop-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		scratch = dir
	}
	testscript.Main(cleaning{m}, map[string]func(){"iop": main})
}

// cleaning removes scratch behind the tests.
type cleaning struct{ m *testing.M }

func (c cleaning) Run() int {
	defer os.RemoveAll(scratch)
	return c.m.Run()
}

// soon is a time by which everything here has happened, also on a busy machine.
const soon = 30 * time.Second

// daemonProgram builds the real daemon, once.
var daemonProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "iop-control-plane")
	if out, err := exec.Command("go", "build", "-o", program, "iop/cmd/iop-control-plane").CombinedOutput(); err != nil {
		return "", fmt.Errorf("the daemon can't be built: %w\n%s", err, out)
	}
	return program, nil
})

// TestScripts types what a person could type, in testdata/script, at a real daemon and real Edges:
//
//	daemon FLAGS...      starts a Control Plane for this script, which iop asks from then on
//	restart              crashes it and starts it anew at the same addresses
//	edge ID [k=v...]     connects an Edge with these labels
//	leave ID             has it say goodbye
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
			"daemon": daemonCommand, "restart": restartCommand, "edge": edgeCommand, "leave": leaveCommand,
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

// addresses are where a daemon listens.
type addresses struct {
	HTTP     string `json:"http"`
	Wire     string `json:"wire"`
	EdgeWire string `json:"edge_wire"`
}

// testDaemon is the real daemon as a process of its own.
type testDaemon struct {
	process *exec.Cmd
	ended   chan struct{}
	addresses
}

// startDaemon waits until it listens; addresses that aren't given are free ones.
func startDaemon(args ...string) (*testDaemon, error) {
	program, err := daemonProgram()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "daemon-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "addresses.json")
	args = append([]string{"--dev", "--log-level", "error", "--http-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0", "--edge-wire-listen", "127.0.0.1:0", "--addresses-file", file}, args...)
	d := &testDaemon{process: exec.Command(program, args...), ended: make(chan struct{})}
	d.process.Dir = dir
	var log strings.Builder
	d.process.Stderr = &log
	if err := d.process.Start(); err != nil {
		return nil, err
	}
	go func() { defer close(d.ended); _ = d.process.Wait() }()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // there is nothing else to wait on
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &d.addresses) == nil {
			return d, nil
		}
		select {
		case <-d.ended:
			return nil, fmt.Errorf("the daemon ended:\n%s", log.String())
		default:
		}
	}
	d.kill()
	return nil, errors.New("the daemon doesn't listen")
}

func (d *testDaemon) stop() {
	_ = d.process.Process.Signal(syscall.SIGTERM)
	<-d.ended
}

// kill ends it as a crash would.
func (d *testDaemon) kill() {
	_ = d.process.Process.Kill()
	<-d.ended
}
