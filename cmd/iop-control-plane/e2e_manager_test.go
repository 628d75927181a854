package main

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"iop/internal/testkit"
)

// testManager is the socket that systemd gives to a service with Type=notify.
type testManager struct {
	t    *testing.T
	path string
	told chan string
}

func newTestManager(t *testing.T) *testManager {
	t.Helper()
	m := &testManager{t: t, path: filepath.Join(t.TempDir(), "notify"), told: make(chan string, 1000)}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := socket.Read(buffer)
			if err != nil {
				return
			}
			m.told <- string(buffer[:n])
		}
	}()
	return m
}

// next gives the next state but signs of life, which it counts.
func (m *testManager) next() (state string, signs int) {
	m.t.Helper()
	for {
		select {
		case state = <-m.told:
			if state != "WATCHDOG=1" {
				return state, signs
			}
			signs++
		case <-time.After(patience):
			m.t.Fatal("the service manager was told nothing")
		}
	}
}

func (m *testManager) isTold(want string) {
	m.t.Helper()
	if got, _ := m.next(); got != want {
		m.t.Fatalf("the service manager was told %q, want %q", got, want)
	}
}

func TestServiceManager(t *testing.T) {
	t.Parallel()
	m := newTestManager(t)
	d := startDaemonIn(t, t.TempDir(), "server: {shutdown_timeout: 40s}\n", "NOTIFY_SOCKET="+m.path)
	m.isTold("READY=1")
	d.get("/readyz").is(200) // whoever is told may come at once
	for _, config := range []string{"log: {level: warn}\n", "no such key: 1\n"} {
		d.configure(config)
		d.signal(syscall.SIGHUP)
		reloading, _ := m.next()
		lines := strings.Split(strings.TrimSpace(reloading), "\n")
		if len(lines) != 2 || lines[0] != "RELOADING=1" || !strings.HasPrefix(lines[1], "MONOTONIC_USEC=") {
			t.Errorf("told of a reload: %q", reloading)
		}
		m.isTold("READY=1")
	}
	testkit.Eventually(t, "the log tells of a bad configuration", func() bool { return strings.Contains(d.said(), "was not reloaded") })
	d.signal(syscall.SIGTERM)
	m.isTold("STOPPING=1\nEXTEND_TIMEOUT_USEC=50000000") // shutdown_timeout and 10 s
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if len(m.told) != 0 {
		t.Errorf("told %q, without a watchdog or after the end", <-m.told)
	}
}

// TestWatchdogOfTheDaemon: signs of life come from the daemon as long as it lives. What it does when its registry hangs is in
// TestWatchdog and the actors' TestFleetOfAHungRegistry: from outside nobody can make it hang.
func TestWatchdogOfTheDaemon(t *testing.T) {
	t.Parallel()
	m := newTestManager(t)
	d := startDaemonIn(t, t.TempDir(), "", "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=300000")
	m.isTold("READY=1")
	for range 5 {
		select {
		case state := <-m.told:
			if state != "WATCHDOG=1" {
				t.Fatalf("told %q", state)
			}
		case <-time.After(patience):
			t.Fatal("no sign of life")
		}
	}
	d.signal(syscall.SIGTERM)
	m.next()
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestNoServiceManager: one that is gone is no reason not to serve.
func TestNoServiceManager(t *testing.T) {
	t.Parallel()
	d := startDaemonIn(t, t.TempDir(), "", "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "nobody"), "WATCHDOG_USEC=nonsense")
	d.get("/readyz").is(200)
	testkit.Eventually(t, "it says so", func() bool { return strings.Contains(d.said(), "was not told") })
}

// TestCrashIsASignal: the units don't start again what ended with exit code 2, a configuration that is wrong. Go's programs end
// with 2 when they break down, too, unless GOTRACEBACK is crash, which the units set.
func TestCrashIsASignal(t *testing.T) {
	t.Parallel()
	d := startDaemonIn(t, t.TempDir(), "", "GOTRACEBACK=crash")
	d.signal(syscall.SIGABRT) // systemd's when a watchdog gets no sign of life
	<-d.ended
	status := d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("ended with %v", d.cmd.ProcessState)
	}
	if !slices.ContainsFunc(strings.Split(d.said(), "\n"), func(line string) bool { return strings.HasPrefix(line, "goroutine ") }) {
		t.Error("it didn't say where it stood")
	}
	d.mu.Lock()
	d.log.Reset() // kill would take it for a breakdown
	d.mu.Unlock()
}
