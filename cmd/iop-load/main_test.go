package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"iop/cmd/internal/program"
	"iop/cmd/internal/scripttest"
	"iop/internal/testkit"
	"iop/load"
	"iop/load/ledger"
	"iop/load/report"
)

func TestMain(m *testing.M) {
	testscript.Main(testkit.Cleaning{M: m}, map[string]func(){"iop-load": main})
}

func TestScripts(t *testing.T) { scripttest.Run(t, "iop-load") }

// ran is what a run of the program left behind.
type ran struct {
	code           int
	stdout, stderr string
	report         report.Report
}

// runAgainstDaemon runs the program in this process, with a daemon of its own.
func runAgainstDaemon(t *testing.T, stderr *watched, args ...string) ran {
	t.Helper()
	bin, err := testkit.Program("iop-control-plane")
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	file := filepath.Join(t.TempDir(), "out.json")
	var stdout bytes.Buffer
	r := ran{code: run(append(args, "--daemon", bin, "--report", file), &stdout, stderr, func(string) string { return "" })}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("no report: %v\n%s", err, r.stderr)
	}
	if err := json.Unmarshal(content, &r.report); err != nil {
		t.Fatal(err)
	}
	return r
}

// watched is a stderr that tells a test what is written, from the writer's goroutine.
type watched struct {
	mu   sync.Mutex
	text strings.Builder
	tell func(line string)
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell != nil {
		w.tell(string(p))
	}
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// What answers may be anything; its words must not steer the terminal.
func TestAReportIsPrintedClean(t *testing.T) {
	r := &report.Report{Scenario: "s", Status: report.Requests{Sent: 1, Errors: 1, ErrorKinds: map[string]uint64{"x\x1b[2J": 1}}}
	var out bytes.Buffer
	printReport(&out, r)
	if text := out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "\n  status errors: x [2J 1×\n") {
		t.Errorf("printed is %q", text)
	}
}

// The real daemon under everything that can be asked of it gives every answer once and to the one who asked.
func TestARealRun(t *testing.T) {
	r := runAgainstDaemon(t, &watched{}, "--edges", "100", "--status-rate", "40", "--command-rate", "20", "--summary-rate", "5",
		"--client-rate", "5", "--readers", "2", "--duration", "5s", "--threshold", "edges.missing==0", "--threshold", "errors==0")
	if r.code != program.ExitOK {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	o := &r.report
	if o.Totals != (ledger.Totals{}) {
		t.Errorf("totals %+v", o.Totals)
	}
	for name, c := range map[string]struct {
		requests report.Requests
		sent     uint64
	}{"status": {o.Status, 200}, "commands": {o.Commands, 100}, "summaries": {o.Summaries, 25}, "clients": {o.Clients, 25}} {
		if c.requests.Sent != c.sent || c.requests.OK != c.sent {
			t.Errorf("%s: %d sent and %d ok, want %d; %v", name, c.requests.Sent, c.requests.OK, c.sent, c.requests.ErrorKinds)
		}
	}
	if o.Settled.Sent == 0 || o.Settled.OK != o.Settled.Sent {
		t.Errorf("of %d commands that went on, %d were shown as ended: %v", o.Settled.Sent, o.Settled.OK, o.Settled.ErrorKinds)
	}
	if o.Events.OK == 0 || o.Readers.Errors != 0 {
		t.Errorf("live readers saw %d events, and were ended: %v", o.Events.OK, o.Readers.ErrorKinds)
	}
	if o.Edges.Connected != 100 || o.Edges.Cut != 0 || len(o.Edges.Troubles) != 0 {
		t.Errorf("edges %+v", o.Edges)
	}
	if o.Server.CPUPerStatus == nil || o.Server.BytesPerEdge == nil {
		t.Errorf("the server wasn't watched: %+v", o.Server)
	}
	if !strings.Contains(r.stderr, "100/100 Edges") {
		t.Errorf("no line tells how it goes:\n%s", r.stderr)
	}
}

// Everything that can go wrong on purpose, at once: nothing of it is blamed on the daemon, and it takes it.
func TestARealRunWithEverythingThatGoesWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(`
edges: {count: 60, reconnect: 100ms, reconnect_max: 1s}
traffic: {duration: 14s, status_rate: 30, command_rate: 10, slow_readers: 1, client_rate: 2, timeout: 5s}
disturb:
  - {kind: late_answers, at: 1s, for: 3s, percent: 10, delay: 5500ms}
  - {kind: wrong_answers, at: 1s, for: 3s, percent: 10}
  - {kind: slow_edges, at: 1s, for: 3s, percent: 10, delay: 1s}
  - {kind: half_open, at: 1s, for: 3s, percent: 10}
  - {kind: clones, at: 1s, for: 3s, percent: 5}
  - {kind: churn, at: 5s, for: 2s, rate: 20, delay: 100ms}
  - {kind: drop, at: 8s, percent: 100}
  - {kind: restart, at: 10s}
thresholds:
  - reconnect.all<60s
  - edges.missing==0
`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runAgainstDaemon(t, &watched{}, file)
	if r.code != program.ExitOK {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	o := &r.report
	if o.Totals != (ledger.Totals{}) || o.Status.Errors != 0 || o.Commands.Errors != 0 {
		t.Errorf("totals %+v, errors %v %v", o.Totals, o.Status.ErrorKinds, o.Commands.ErrorKinds)
	}
	if o.Status.Excused == 0 {
		t.Error("nothing was excused, with all that went wrong")
	}
	if len(o.Reconnect.Storms) != 2 || o.Reconnect.All == nil || o.Edges.Reconnects < 60 {
		t.Errorf("reconnects %+v, %d", o.Reconnect, o.Edges.Reconnects)
	}
}

func TestAThresholdThatFails(t *testing.T) {
	r := runAgainstDaemon(t, &watched{}, "--edges", "10", "--duration", "1s", "--threshold", "status.p99<1us")
	if r.code != exitThreshold || !strings.Contains(r.stdout, "FAILS") || r.report.OK {
		t.Errorf("exit code %d, want %d\n%s", r.code, exitThreshold, r.stdout)
	}
}

func TestAnInterruptStillReports(t *testing.T) {
	var once sync.Once
	stderr := &watched{tell: func(line string) {
		if strings.Contains(line, "load 10/10") {
			once.Do(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) })
		}
	}}
	began := time.Now()
	r := runAgainstDaemon(t, stderr, "--edges", "10", "--duration", "1h")
	if r.code != exitInterrupted || !r.report.Interrupted || !strings.Contains(r.stdout, "interrupted") {
		t.Errorf("exit code %d\n%s", r.code, r.stdout)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// Two processes of their own join a third one.
func TestProcessesJoin(t *testing.T) {
	workers := make(chan error, 2)
	stderr := &watched{tell: func(line string) {
		_, address, ok := strings.Cut(line, "waiting for 2 more: iop-load --join ")
		for i := 0; ok && i < 2; i++ {
			go func() {
				out, err := exec.Command("iop-load", "--join", strings.TrimSpace(address)).CombinedOutput()
				if err != nil {
					err = fmt.Errorf("%w\n%s", err, out)
				}
				workers <- err
			}()
		}
	}}
	r := runAgainstDaemon(t, stderr, "--processes", "3", "--edges", "30", "--status-rate", "30", "--command-rate", "9", "--duration", "2s")
	for range 2 {
		if err := <-workers; err != nil {
			t.Error(err)
		}
	}
	if r.code != program.ExitOK {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	o := &r.report
	if o.Processes != 3 || o.Edges.Target != 30 || o.Edges.Connected != 30 || o.Status.Sent != 60 || o.Status.OK != 60 || o.Commands.OK != 18 {
		t.Errorf("%d processes, edges %+v, status %+v, commands %+v", o.Processes, o.Edges, o.Status.ErrorKinds, o.Commands.ErrorKinds)
	}
}

func TestTokensComeFromTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want load.Target
	}{
		"none": {nil, load.Target{}},
		"both": {map[string]string{"IOP_TOKEN": "a", "IOP_EDGE_TOKEN": "e"}, load.Target{OperatorToken: "a", EdgeToken: "e"}},
	} {
		var got load.Target
		(&command{env: func(name string) string { return c.env[name] }}).tokens(&got)
		if got.OperatorToken != c.want.OperatorToken || got.EdgeToken != c.want.EdgeToken {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
