//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// BenchmarkEdgeAtRest prints what an Edge costs that asks 100 nodes of 4 providers each every 5 s: its resident memory, and
// the part of one core that it takes. The providers answer with pages as long as those of a real vLLM, and each one's
// numbers change all the time, so that every probe is news.
//
//	go test -run '^$' -bench EdgeAtRest -benchtime 1x ./cmd/iop-edge
func BenchmarkEdgeAtRest(b *testing.B) {
	const nodes, each, warmUp, measured = 100, 4, 8 * time.Second, 30 * time.Second
	addresses, probes := startBackends(b, nodes*each)
	controlPlane := startListener(b)
	var text strings.Builder
	fmt.Fprintf(&text, "edge: {id: seoul-1}\ncontrol_plane: {address: %q}\nlog: {level: warn}\nnodes:\n", controlPlane)
	for n := range nodes {
		fmt.Fprintf(&text, "  - id: gpu-%d\n    providers:\n", n)
		for p := range each {
			fmt.Fprintf(&text, "      - {id: vllm-%d, type: vllm, base_url: %q, capacity: 8}\n", p, "http://"+addresses[n*each+p])
		}
	}
	file := filepath.Join(b.TempDir(), "edge.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	process := exec.Command("iop-edge", "--config", file)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	for b.Loop() {
		time.Sleep(warmUp)
		cpu, asked := cpuTime(b, process.Process.Pid), probes.Load()
		time.Sleep(measured)
		b.ReportMetric(100*(cpuTime(b, process.Process.Pid)-cpu).Seconds()/measured.Seconds(), "%-of-a-core")
		b.ReportMetric(float64(probes.Load()-asked)/measured.Seconds(), "probes/s")
		b.ReportMetric(float64(memory(b, process.Process.Pid, "VmRSS:"))/1024, "MiB-resident")
		b.ReportMetric(float64(memory(b, process.Process.Pid, "VmHWM:"))/1024, "MiB-resident-at-most")
	}
}

// startBackends serves every provider at an address of its own, as they have in the world: connections are kept by address.
func startBackends(b *testing.B, n int) (addresses []string, probes *atomic.Int64) {
	b.Helper()
	rest := strings.Repeat("vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"0.3\",model_name=\"m-small\"} 12345.0\n", 300)
	probes = new(atomic.Int64)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/v1/models"):
			_, _ = w.Write([]byte(`{"data":[{"id":"m-small"},{"id":"m-large"}]}`))
		case strings.HasSuffix(r.URL.Path, "/metrics"):
			n := probes.Add(1)
			_, _ = fmt.Fprintf(w, "%svllm:num_requests_running{engine=\"0\",model_name=\"m-small\"} %d.0\nvllm:num_requests_waiting{engine=\"0\",model_name=\"m-small\"} 0.0\n", rest, n%7)
		}
	})}
	b.Cleanup(func() { _ = server.Close() })
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go func() { _ = server.Serve(listener) }()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, probes
}

// startListener is a Control Plane that welcomes an Edge and reads what it says.
func startListener(b *testing.B) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		frames := wire.NewFrameReader(conn, wire.DefaultMaxFrameBytes)
		for {
			payload, err := frames.Next()
			if err != nil {
				return
			}
			e, err := wire.Decode(payload)
			if err != nil {
				return
			}
			answer := &iopv1.Envelope{ReplyTo: e.Id}
			switch {
			case e.GetEdgeHelloRequest() != nil:
				answer.Body = &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{ProtocolVersion: 1}}
			case e.GetPing() != nil:
				answer.Body = &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}
			default:
				continue
			}
			frame, err := wire.AppendFrame(nil, answer)
			if err == nil {
				_, err = conn.Write(frame)
			}
			if err != nil {
				return
			}
		}
	}()
	return listener.Addr().String()
}

// memory is a line of /proc/<pid>/status, in KiB.
func memory(b *testing.B, pid int, name string) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name)
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// cpuTime is what a process has used, in user and kernel, from /proc/<pid>/stat in hundredths of a second.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may have anything in it
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
