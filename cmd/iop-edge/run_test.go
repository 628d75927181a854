//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iop/cmd/internal/program"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// These tests run the program as a process of its own, between a backend and a Control Plane that the test plays.

func TestItRunsUntilItIsTold(t *testing.T) {
	r := start(t)
	h := r.next(t).GetEdgeHelloRequest()
	if h.GetEdgeId() != "seoul-1" || h.GetToken() != "s3cret" || h.GetLabels()["region"] != "kr" || h.GetName() != "Seoul" || h.GetVersion() != "dev" {
		t.Errorf("hello is %v", h)
	}
	r.welcome(t)
	var push *iopv1.EdgeStatusResponse
	for push == nil {
		push = r.next(t).GetEdgeStatusResponse()
	}
	if p := push.Nodes[0].Providers[0]; !push.Nodes[0].Connected || p.General.InFlight != 2 || p.General.Capacity != 8 || p.LongContext.Capacity != 1 || p.Models[0] != "m-small" {
		t.Errorf("pushed %v", push)
	}
	if err := r.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for r.next(t).GetGoAway().GetReason() != iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING {
	}
	_ = r.conn.Close()
	if err := r.process.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for what, there := range map[string]bool{"The Edge starts.": true, "The Edge has stopped.": true, `"level":"info"`: true, "s3cret": false, r.backend: false} {
		if strings.Contains(r.log.String(), what) != there {
			t.Errorf("in the log %q is %v:\n%s", what, !there, r.log.String())
		}
	}
}

func TestASecondSignalEndsItAtOnce(t *testing.T) {
	r := start(t)
	r.next(t)
	r.welcome(t)
	for r.next(t).GetEdgeStatusResponse() == nil {
	}
	_ = r.process.Process.Signal(os.Interrupt)
	for r.next(t).GetGoAway() == nil {
	}
	_ = r.process.Process.Signal(syscall.SIGTERM) // while it waits for us to close
	_ = r.process.Wait()
	if r.process.ProcessState.ExitCode() != program.ExitFailed {
		t.Errorf("it ended with %v", r.process.ProcessState)
	}
}

// TestASignalWhileItStartsIsHeard: the state file is a pipe here, so that the start waits for it.
func TestASignalWhileItStartsIsHeard(t *testing.T) {
	dir := t.TempDir()
	state, socket, file := filepath.Join(dir, "state"), filepath.Join(dir, "status"), filepath.Join(dir, "edge.yaml")
	if err := syscall.Mkfifo(state, 0o600); err != nil {
		t.Fatal(err)
	}
	text := "edge: {id: seoul-1}\nstate_file: " + state + "\nstatus_socket: " + socket + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	process := exec.Command("iop-edge", "--config", file)
	process.Stderr = &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill() })
	pipe, err := os.OpenFile(state, os.O_WRONLY, 0) // once it reads
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(pipe, "iop-edge outcomes 1 %x\n", sha256.Sum256(nil))
	if err := errors.Join(err, pipe.Close(), process.Wait()); err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it leaves its socket: %v", err)
	}
}

type running struct {
	process *exec.Cmd
	log     bytes.Buffer // to be read after the process has ended
	backend string       // its address
	conn    net.Conn
	frames  *wire.FrameReader
}

const settings = `
edge: {id: seoul-1, name: Seoul, labels: {region: kr}}
control_plane: {address: "CONTROL_PLANE", token: s3cret}
nodes:
  - id: gpu-1
    providers:
      - {id: vllm-0, type: vllm, base_url: "http://BACKEND", capacity: 8, long_context_capacity: 1}
`

// start runs the program and takes its connection.
func start(t *testing.T) *running {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			_, _ = w.Write([]byte("vllm:num_requests_running{engine=\"0\"} 2.0\n"))
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[{"id":"m-small"}]}`))
		}
	}))
	t.Cleanup(backend.Close)
	r := &running{backend: backend.Listener.Addr().String()}
	file := filepath.Join(t.TempDir(), "edge.yaml")
	text := strings.NewReplacer("CONTROL_PLANE", listener.Addr().String(), "BACKEND", r.backend).Replace(settings)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.process = exec.Command("iop-edge", "--config", file)
	r.process.Stderr = &r.log
	if err := r.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.process.Process.Kill() })
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	if r.conn, err = listener.Accept(); err != nil {
		t.Fatalf("it doesn't connect: %v", err)
	}
	t.Cleanup(func() { _ = r.conn.Close() })
	_ = r.conn.SetDeadline(time.Now().Add(20 * time.Second))
	r.frames = wire.NewFrameReader(r.conn, wire.DefaultMaxFrameBytes)
	return r
}

func (r *running) next(t *testing.T) *iopv1.Envelope {
	t.Helper()
	payload, err := r.frames.Next()
	if err != nil {
		t.Fatalf("it says nothing: %v", err)
	}
	e, err := wire.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (r *running) welcome(t *testing.T) {
	t.Helper()
	frame, err := wire.AppendFrame(nil, &iopv1.Envelope{ReplyTo: 1, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{ProtocolVersion: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.conn.Write(frame); err != nil {
		t.Fatal(err)
	}
}
