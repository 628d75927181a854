package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"iop/internal/testkit"
)

// The end-to-end tests (e2e_*_test.go) hold the daemon to its contract from outside: a process of its own, real sockets on
// free ports, an Edge that speaks the wire by hand. They share no state with the code that they test.

// patience is how long a machine that is busy with other tests may take for what takes milliseconds.
const patience = time.Minute

// daemon under test.
type testDaemon struct {
	t                *testing.T
	http, wire, edge string // addresses
	debug, dir       string // where it is on; the folder that the daemon runs in
	scheme           string
	client           *http.Client
	cmd              *exec.Cmd
	ended            chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// freePorts leave the configuration's text to the tests.
var freePorts = []string{"IOP_HTTP_LISTEN=127.0.0.1:0", "IOP_WIRE_LISTEN=127.0.0.1:0", "IOP_EDGE_WIRE_LISTEN=127.0.0.1:0"}

// startDaemon runs the daemon with this configuration on free ports and waits until it listens. The program is the test
// binary itself, which TestMain has put into PATH: with -race it is checked for races, too.
func startDaemon(t *testing.T, config string) *testDaemon {
	t.Helper()
	return startDaemonIn(t, t.TempDir(), config)
}

// startDaemonIn runs it in this folder, with these additions to its environment.
func startDaemonIn(t *testing.T, dir, config string, env ...string) *testDaemon {
	t.Helper()
	d := newDaemonIn(t, dir, config, env...)
	d.start()
	return d
}

// newDaemonIn is startDaemonIn without the start.
func newDaemonIn(t *testing.T, dir, config string, env ...string) *testDaemon {
	t.Helper()
	d := &testDaemon{t: t, dir: dir, scheme: "http", client: httpClient, ended: make(chan struct{})}
	d.configure(config)
	d.cmd = exec.Command("iop-control-plane", "--config", d.file("cp.yaml"), "--addresses-file", d.file("addresses.json"))
	d.cmd.Dir = dir
	d.cmd.Env = slices.Concat(os.Environ(), []string{"GORACE=halt_on_error=1"}, freePorts, env)
	d.cmd.Stdout, d.cmd.Stderr = d, d
	return d
}

// start waits until the daemon listens.
func (d *testDaemon) start() {
	d.t.Helper()
	d.run()
	testkit.Eventually(d.t, "the daemon listens", func() bool {
		content, err := os.ReadFile(d.file("addresses.json"))
		var a struct {
			HTTP  string `json:"http"`
			Wire  string `json:"wire"`
			Edge  string `json:"edge_wire"`
			Debug string `json:"debug"`
		}
		if err != nil || json.Unmarshal(content, &a) != nil {
			return false
		}
		d.http, d.wire, d.edge, d.debug = a.HTTP, a.Wire, a.Edge, a.Debug
		return true
	})
}

func (d *testDaemon) run() {
	d.t.Helper()
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.ended)
	}()
	d.t.Cleanup(d.kill)
}

func (d *testDaemon) file(name string) string { return filepath.Join(d.dir, name) }

// configure writes the file that a start or a SIGHUP reads.
func (d *testDaemon) configure(config string) {
	d.t.Helper()
	if err := os.WriteFile(d.file("cp.yaml"), []byte(config), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// Write takes the daemon's log.
func (d *testDaemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

func (d *testDaemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

func (d *testDaemon) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// exit waits for the daemon's end and gives its exit code; -1 for a signal.
func (d *testDaemon) exit() int {
	d.t.Helper()
	select {
	case <-d.ended:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		d.t.Fatalf("the daemon does not end; it said:\n%s", d.said())
		return 0
	}
}

func (d *testDaemon) kill() {
	select {
	case <-d.ended:
	default:
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	log := d.said()
	if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		d.t.Errorf("the daemon broke down:\n%s", log)
	} else if d.t.Failed() {
		d.t.Logf("the daemon said:\n%.8000s", log)
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
