package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"iop/internal/testkit"
	"iop/internal/testkit/testdaemon"
	"iop/load/fleet"
	"iop/load/ledger"
	"iop/load/measure"
)

// BenchmarkTop prints what "iop top" takes of one core where it runs, and what the Control Plane takes with it and before it. The
// fleet are 5,000 Edges of 2 nodes with 2 providers; each of them pushes another snapshot and tells an event every 30 s.
//
//	go test -run '^$' -bench Top -benchtime 1x ./cmd/iop
func BenchmarkTop(b *testing.B) {
	const edges, prefix, warmUp, measured = 5000, "load-", 15 * time.Second, 45 * time.Second
	daemon := testdaemon.Start(b, nil, "--log-level", "error")
	f := fleet.New(fleet.Options{Address: daemon.Addresses().EdgeWire, Count: edges, IDPrefix: prefix, Nodes: 2, Providers: 2,
		PushInterval: 30 * time.Second, Reconnect: 500 * time.Millisecond, ReconnectMax: 5 * time.Second, Ledger: ledger.New(prefix, edges)})
	defer f.Close(b.Context())
	ctx, cancel := context.WithTimeout(b.Context(), testkit.Patience)
	defer cancel()
	f.Connect()
	if _, err := f.AwaitAll(ctx); err != nil {
		b.Fatal(err)
	}
	iop, err := testkit.Program("iop")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		time.Sleep(warmUp)
		without := cpuOf(b, daemon.Process())
		time.Sleep(measured)
		without = cpuOf(b, daemon.Process()) - without

		p := newPty(b)
		p.resize(120, 40)
		top := exec.Command(iop, "top", "--addr", daemon.Addresses().HTTP)
		top.Env = append(os.Environ(), "TERM=xterm", "XDG_CONFIG_HOME="+b.TempDir())
		top.Stdin, top.Stdout = p.them, p.them
		if err := top.Start(); err != nil {
			b.Fatal(err)
		}
		p.waitFor("5000 connected")
		time.Sleep(warmUp)
		screen := measure.Process{Pid: top.Process.Pid}
		here, there := cpuOf(b, screen), cpuOf(b, daemon.Process())
		time.Sleep(measured)
		here, there = cpuOf(b, screen)-here, cpuOf(b, daemon.Process())-there
		_, _ = p.us.WriteString("q")
		if err := top.Wait(); err != nil {
			b.Fatal(err)
		}
		percent := func(d time.Duration) float64 { return 100 * d.Seconds() / measured.Seconds() }
		b.ReportMetric(percent(here), "%-of-a-core-top")
		b.ReportMetric(percent(there), "%-of-a-core-control-plane")
		b.ReportMetric(percent(without), "%-of-a-core-control-plane-without")
		b.ReportMetric(0, "ns/op") // it waits by the clock
	}
}

func cpuOf(b *testing.B, p measure.Process) time.Duration {
	b.Helper()
	u, err := p.Usage()
	if err != nil {
		b.Fatal(err)
	}
	return u.CPU
}
