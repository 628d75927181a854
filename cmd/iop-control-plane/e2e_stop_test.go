package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

const shutdown = iopv1.GoAwayReason_GO_AWAY_REASON_SHUTDOWN

// TestDrain: unready at once, the wires' listeners closed, what is pending answered, the rest refused.
func TestDrain(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	idle, busy := d.connect(helloOf("idle")), d.connect(helloOf("busy"))
	command := d.postLater("busy", `{"operation":"a","timeout":"20s"}`)
	ordered := busy.command()
	status := d.later("GET", "/edges/busy/status?timeout=20s", "")
	asked := busy.next()
	d.signal(syscall.SIGTERM)
	for _, e := range []*testEdge{idle, busy} {
		if after := e.isTold(shutdown).ReconnectAfter.AsDuration(); after <= 0 || after > time.Second {
			t.Errorf("%s: reconnect_after %v", e.id, after)
		}
	}
	idle.hasEnded() // nothing is pending there
	for _, address := range []string{d.wire, d.edge} {
		if c, err := net.Dial("tcp", address); err == nil {
			t.Errorf("%s still listens", address)
			c.Close()
		}
	}
	d.get("/healthz").is(200)
	d.get("/readyz").is(503, "ready", false)
	d.do("HEAD", "/readyz", "").is(503)
	for _, path := range []string{"/edges", "/nope", "/metrics", "/edges/busy/status"} {
		d.get(path).isProblem(503, "shutting_down")
	}
	d.post("busy", `{"operation":"b"}`).isProblem(503, "shutting_down")
	busy.answer(asked, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: snapshotOf("busy")}})
	(<-status).is(200, "source", "live")
	busy.reply(ordered, succeeded)
	(<-command).is(200, "state", "succeeded")
	busy.hasEnded()
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestStopListensToTheEnd: a request that outlasts the drain is waited for, at most until shutdown_timeout; and as long as the process
// lives HTTP answers, on new connections, too.
func TestStopListensToTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout time.Duration
		ends    bool
	}{
		"a body that takes its time": {time.Minute, true},
		"a body without an end":      {6 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, fmt.Sprintf("server: {shutdown_timeout: %v}\n", c.timeout))
			e := d.connect(helloOf("e"))
			conn, err := net.Dial("tcp", d.http)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := `{"operation":"a"}`
			if _, err := fmt.Fprintf(conn, "POST /edges/e/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
				"Connection: close\r\n\r\n", len(body)); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, "the request is under way", func() bool { return d.metric("iop_http_requests_in_flight") == 2 }) // and this one
			began := time.Now()
			d.signal(syscall.SIGTERM)
			e.isTold(shutdown)
			e.hasEnded() // nothing is pending any more: the drain is over
			for i := range 5 {
				if _, err := io.WriteString(conn, body[i:i+1]); err != nil {
					t.Fatal(err)
				}
				for path, status := range map[string]string{"/healthz": " 200 ", "/readyz": " 503 ", "/edges": " 503 "} {
					if said := d.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(said, "HTTP/1.1"+status) {
						t.Errorf("%s: %.200s", path, said)
					}
				}
			}
			want := ""
			if c.ends {
				if _, err := io.WriteString(conn, body[5:]); err != nil {
					t.Fatal(err)
				}
				want = "HTTP/1.1 503 "
			}
			_ = conn.SetDeadline(time.Now().Add(patience))
			if said, _ := io.ReadAll(conn); !strings.HasPrefix(string(said), want) || c.ends != strings.Contains(string(said), "shutting_down") {
				t.Errorf("answered %s", said)
			}
			if code, took := d.exit(), time.Since(began); code != 0 || took > c.timeout+patience { // which is for a busy machine
				t.Errorf("exit code %d after %v", code, took)
			}
		})
	}
}

// TestAClosedLog: who reads the log goes away, as a pipeline's next program does, or journald. The daemon goes on.
func TestAClosedLog(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := newDaemonIn(t, t.TempDir(), "")
	d.cmd.Stderr = write
	d.start()
	write.Close()
	read.Close()
	for range 3 {
		d.post("nobody", `{"operation":"a"}`).isProblem(404, "edge_not_found") // leaves a line
	}
	testkit.Eventually(t, "the lines are counted as lost", func() bool { return d.metric("iop_log_lost_lines_total") >= 3 })
	d.signal(syscall.SIGTERM)
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestStopDuringAReload: a configuration that can't be read to its end, as from a file system that hangs, holds up no stop, however many
// reloads were asked for.
func TestStopDuringAReload(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	if err := errors.Join(os.Remove(d.file("cp.yaml")), syscall.Mkfifo(d.file("cp.yaml"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		d.signal(syscall.SIGHUP)
	}
	pipe, err := os.OpenFile(d.file("cp.yaml"), os.O_WRONLY, 0) // opens when the daemon has opened it, too
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	d.signal(syscall.SIGTERM)
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDrainIsBounded: a hung Edge is waited for until shutdown_timeout, and its callers hear what is known.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "server: {shutdown_timeout: 2s}\n")
	e := d.connect(helloOf("e"))
	command := d.postLater("e", `{"operation":"a","timeout":"60s"}`)
	id := commandOf(e.command()).CommandId
	status := d.later("GET", "/edges/e/status?timeout=30s", "")
	e.next()
	fleet := d.later("GET", "/fleet/status?timeout=30s", "")
	e.next()
	stream := d.later("GET", "/fleet/events", "", "Accept", "text/event-stream")
	testkit.Eventually(t, "the stream is open", func() bool { return d.metric("iop_http_event_streams") == 1 })
	began := time.Now()
	d.signal(syscall.SIGTERM)
	(<-stream).is(200)
	(<-command).isProblem(503, "shutting_down", "operation.operation_id", id, "operation.state", "unknown")
	if a := <-status; a.status != 503 && a.status != 504 {
		t.Errorf("%s: %d %s", a.what, a.status, a.body)
	}
	if a := <-fleet; a.status != 503 && a.number("unanswered") != 1 {
		t.Errorf("%s: %d %s", a.what, a.status, a.body)
	}
	if code, took := d.exit(), time.Since(began); code != 0 || took > 20*time.Second { // a request alone has 30 s
		t.Errorf("exit code %d after %v", code, took)
	}
}

// TestSecondSignal doesn't wait.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	d.postLater("e", `{"operation":"a","timeout":"60s"}`)
	e.command()
	d.signal(syscall.SIGTERM)
	e.isTold(shutdown)
	d.signal(syscall.SIGINT)
	if code := d.exit(); code != 1 || !strings.Contains(d.said(), "second signal") {
		t.Errorf("exit code %d", code)
	}
}

// TestSignalWhileStarting is a stop in good order, too: nobody can know that the start isn't over.
func TestSignalWhileStarting(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// With a full pipe the daemon stands still at its first log line, which says that it listens.
	_ = writer.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	for err == nil {
		_, err = writer.Write(make([]byte, 4096))
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	d := &testDaemon{t: t, dir: t.TempDir(), ended: make(chan struct{}), cmd: exec.Command("iop-control-plane")}
	d.cmd.Dir, d.cmd.Stderr = d.dir, writer
	d.cmd.Env = append(append(os.Environ(), freePorts...), "IOP_HTTP_LISTEN="+free.Addr().String())
	d.run()
	testkit.Eventually(t, "it listens", func() bool {
		c, err := net.Dial("tcp", free.Addr().String())
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	d.signal(syscall.SIGTERM)
	go io.Copy(io.Discard, reader)
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	writer.Close()
}
