// Command bench prints two figures that the Control Plane is held to, beside those of a plain server of goroutines
// and a map (bench/baseline) that does the same job with the same codec:
//
//   - what an idle Edge costs: resident bytes and goroutines, with many connected;
//   - what a status round trip through HTTP costs: CPU of the server.
//
// Each server is a process of its own, built from this tree; Edges and HTTP callers are in this one. Run it in the
// module's root (go run ./bench) on a machine that does nothing else.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"iop/load/daemon"
)

type settings struct {
	idleEdges int // connected while memory is measured
	cpuEdges  int // connected, and asked in turn, while CPU is measured
	requests  int // a run
	runs      int
	callers   int
	shape     shape
}

func main() {
	s := settings{}
	flag.IntVar(&s.idleEdges, "edges", 10000, "idle Edges, for memory")
	flag.IntVar(&s.cpuEdges, "cpu-edges", 1000, "Edges that are asked, for CPU")
	flag.IntVar(&s.requests, "requests", 30000, "status round trips a run")
	flag.IntVar(&s.runs, "runs", 5, "runs of each server, in turn; the median counts")
	flag.IntVar(&s.callers, "callers", 16, "HTTP callers at once, one keep-alive connection each")
	flag.IntVar(&s.shape.nodes, "nodes", 4, "nodes an Edge")
	flag.IntVar(&s.shape.providers, "providers", 2, "providers a node")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	dir, err := os.MkdirTemp("", "iop-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "./cmd/iop-control-plane", "./bench/baseline")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the servers: %w", err)
	}
	kinds := []*kind{
		{name: "control plane", options: controlPlane(filepath.Join(dir, "iop-control-plane"))},
		{name: "baseline", options: daemon.Options{Bin: filepath.Join(dir, "baseline")}},
	}
	fmt.Printf("Idle Edges: %d connected, hello, one snapshot of %d nodes with %d providers each, heartbeats.\n", s.idleEdges, s.shape.nodes, s.shape.providers)
	fmt.Println("Growth of VmRSS from before to after, each read after POST /debug/freeosmemory and 2 s.")
	for _, k := range kinds {
		for _, pushes := range []bool{false, true} {
			if err := k.measureIdle(s, pushes); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	fmt.Printf("\nStatus round trips: GET /edges/{id}/status over %d Edges, %d callers in a closed loop, %d a run.\n", s.cpuEdges, s.callers, s.requests)
	fmt.Println("CPU of the server's process (user and system) by round trip.")
	if err := measureCPU(s, kinds); err != nil {
		return err
	}
	ratio := kinds[0].medianCPU() / kinds[1].medianCPU()
	for _, k := range kinds {
		fmt.Printf("  %-14s median %.1f µs\n", k.name, k.medianCPU())
	}
	fmt.Printf("  ratio %.2f (at most 1.15 wanted)\n", ratio)
	return nil
}

// kind is one of the servers that are compared.
type kind struct {
	name    string
	options daemon.Options
	load    func(requests int) (cpuMicros, rate float64, err error)
	cpu     []float64 // µs a round trip, a run each
}

func (k *kind) medianCPU() float64 {
	sorted := slices.Sorted(slices.Values(k.cpu))
	return sorted[len(sorted)/2]
}

func (k *kind) measureIdle(s settings, pushes bool) error {
	server, err := start(k.options)
	if err != nil {
		return err
	}
	defer server.Close()
	// What the first connections and scrapes make once is no Edge's cost.
	if err := server.warmUp(s.shape); err != nil {
		return err
	}
	before, goroutines, err := server.settled()
	if err != nil {
		return err
	}
	edges, took, err := connect(server.edgeWire, s.idleEdges, s.shape, pushes)
	if err != nil {
		return err
	}
	defer edges.close()
	after, goroutinesAfter, err := server.settled()
	if err != nil {
		return err
	}
	n := float64(s.idleEdges)
	what := "hello alone"
	if pushes {
		what = fmt.Sprintf("and a snapshot of %d bytes", snapshotBytes(s.shape))
	}
	fmt.Printf("  %-14s %-30s %6.0f bytes and %.2f goroutines an Edge, connected in %.1f s\n", k.name, what,
		float64(after-before)/n, float64(goroutinesAfter-goroutines)/n, took.Seconds())
	return nil
}

// measureCPU lets both servers run and loads them in turn, so that what else the machine does hits both.
func measureCPU(s settings, kinds []*kind) error {
	for _, k := range kinds {
		server, err := start(k.options)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		defer server.Close()
		edges, _, err := connect(server.edgeWire, s.cpuEdges, s.shape, true)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		defer edges.close()
		k.load = func(requests int) (float64, float64, error) { return server.load(s, requests) }
		if _, _, err := k.load(s.requests / 4); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	for range s.runs {
		for _, k := range kinds {
			cpu, rate, err := k.load(s.requests)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			k.cpu = append(k.cpu, cpu)
			fmt.Printf("  %-14s %.1f µs (%.0f a second)\n", k.name, cpu, rate)
		}
		time.Sleep(time.Second)
	}
	return nil
}
