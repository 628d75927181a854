package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"iop/cmd/internal/program"
	"iop/cmd/internal/terminal"
	"iop/configs"
	"iop/load"
	"iop/load/join"
	"iop/load/measure"
	"iop/load/report"
)

// command is what the command line says, and then how it ended.
type command struct {
	env            func(string) string
	stdout, stderr io.Writer

	scenario             string // a name or a file; empty: flags say all
	http, edgeWire, wire string
	pid                  int
	daemon               string
	thresholds, reports  []string
	processes            int
	listen, join         string
	given                map[string]string // configs' overrides that were given, by flag

	exit int
}

// The addresses of a Control Plane with --dev.
const (
	devHTTP     = "http://127.0.0.1:18080"
	devEdgeWire = "127.0.0.1:19081"
	devWire     = "ws://127.0.0.1:19080/client"
)

func (c *command) register(root *cobra.Command) {
	f := root.Flags()
	f.StringVar(&c.http, "http", devHTTP, "the Control Plane's HTTP `URL`")
	f.StringVar(&c.edgeWire, "edge-wire", devEdgeWire, "the Control Plane's Edge wire, `host:port`")
	f.StringVar(&c.wire, "wire", devWire, "the Control Plane's Client wire, as a `URL`")
	f.StringVar(&c.daemon, "daemon", "", "start a Control Plane for the run from the binary at `path`, on free ports")
	f.IntVar(&c.pid, "pid", 0, "the Control Plane's process id, to watch its CPU and memory (default: the process that listens at --http, on this machine)")
	f.StringArrayVar(&c.thresholds, "threshold", nil, "what must hold, such as 'status.p99<50ms' or 'errors<0.1%'; may be given again")
	f.StringArrayVar(&c.reports, "report", nil, "write the report to this `file`, .json or .html; may be given again")
	f.IntVar(&c.processes, "processes", 1, "share the run among `n` processes: this one, and others that --join")
	f.StringVar(&c.listen, "listen", "127.0.0.1:0", "where the others --join, `host:port`")
	f.StringVar(&c.join, "join", "", "join the run led at `host:port`, which says what to do")
	program.OverrideFlags(f, configs.LoadScenarioOverrides, c.given)
}

// gcPercent trades some CPU of this tool for the memory that its Edges take.
const gcPercent = 50

// load does the run and shows what came out.
func (c *command) load(ctx context.Context) error {
	ctx, stop := program.UntilSignal(ctx)
	defer stop()
	debug.SetGCPercent(gcPercent)
	if c.join != "" {
		return c.work(ctx)
	}
	scenario, thresholds, err := c.plan()
	if err != nil {
		return err
	}
	if err := checkFileLimit(scenario.Edges.Count / c.processes); err != nil {
		return err
	}
	target := load.Target{HTTP: strings.TrimSuffix(c.http, "/"), EdgeWire: c.edgeWire, ClientWire: c.wire, Pid: c.pid}
	c.tokens(&target)
	if c.daemon != "" {
		d, err := startDaemon(c.daemon)
		if err != nil {
			return err
		}
		defer end(d)
		aim(&target, d)
	}
	result, err := c.perform(ctx, target, scenario)
	if err != nil {
		return err
	}
	out := result.Report(&scenario, thresholds)
	printReport(c.stdout, out)
	c.exit = exitCode(out)
	return c.write(out)
}

// printReport shows what came out. Kinds of errors are in the words of whatever answered.
func printReport(out io.Writer, r *report.Report) { fmt.Fprint(out, terminal.Lines(r.Text())) }

// perform does the run, alone or with others.
func (c *command) perform(ctx context.Context, target load.Target, s load.Scenario) (*load.Result, error) {
	do := load.Run
	if c.processes > 1 {
		leader, err := join.Listen(c.listen)
		if err != nil {
			return nil, err
		}
		defer leader.Close()
		fmt.Fprintf(c.stderr, "waiting for %d more: iop-load --join %s\n", c.processes-1, leader.Address())
		if err := leader.Await(ctx, c.processes-1, func(name string) { fmt.Fprintln(c.stderr, "joined:", name) }); err != nil {
			return nil, err
		}
		do = leader.Run
	}
	screen := newScreen(c.stderr, s.Edges.Count)
	defer screen.close()
	return do(ctx, target, s, screen.show)
}

// work does a share of another process's run. The report is the leader's.
func (c *command) work(ctx context.Context) error {
	var screen *screen
	err := join.Work(ctx, c.join, c.tokens, func(p join.Part) error {
		fmt.Fprintf(c.stderr, "joined a run of %s: %d Edges of it are here\n", terminal.Clean(p.Scenario.Name), p.Scenario.Edges.Count)
		screen = newScreen(c.stderr, p.Scenario.Edges.Count)
		return checkFileLimit(p.Scenario.Edges.Count)
	}, func(s measure.Sample) { screen.show(s) })
	if screen != nil {
		screen.close()
	}
	return err
}

// tokens come from the environment: a command line is there for everybody to see.
func (c *command) tokens(t *load.Target) {
	t.EdgeToken, t.OperatorToken = c.env("IOP_EDGE_TOKEN"), c.env("IOP_TOKEN")
}

func exitCode(r *report.Report) int {
	switch {
	case r.Interrupted:
		return exitInterrupted
	case !r.OK:
		return exitThreshold
	}
	return program.ExitOK
}

// plan reads everything that can be wrong before anything is started.
func (c *command) plan() (load.Scenario, []report.Threshold, error) {
	cfg, err := configs.LoadScenarioOf(c.scenario, c.given)
	if err != nil {
		return load.Scenario{}, nil, err
	}
	scenario := scenarioOf(cfg)
	var thresholds []report.Threshold
	for _, text := range append(cfg.Thresholds, c.thresholds...) {
		t, err := report.ParseThreshold(text)
		if err != nil {
			return scenario, nil, program.Usage(err)
		}
		thresholds = append(thresholds, t)
	}
	for _, path := range c.reports {
		if ext := filepath.Ext(path); ext != ".json" && ext != ".html" {
			return scenario, nil, program.Usage(fmt.Errorf("--report %s: expected a file that ends in .json or .html", path))
		}
	}
	if needsRestart(scenario) && c.daemon == "" {
		return scenario, nil, program.Usage(fmt.Errorf("the scenario %s restarts the Control Plane; give --daemon, the binary to start", scenario.Name))
	}
	if c.processes < 1 || c.processes > 1 && needsRestart(scenario) {
		return scenario, nil, program.Usage(fmt.Errorf("--processes %d: expected 1 or more, and 1 for a scenario that restarts the Control Plane", c.processes))
	}
	return scenario, thresholds, nil
}

func needsRestart(s load.Scenario) bool {
	for _, d := range s.Disturb {
		if d.Kind == load.Restart {
			return true
		}
	}
	return false
}

func (c *command) write(r *report.Report) error {
	for _, path := range c.reports {
		content, err := r.JSON()
		if filepath.Ext(path) == ".html" {
			content, err = r.HTML()
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		if err != nil {
			return fmt.Errorf("the report %s: %w", path, err)
		}
		fmt.Fprintln(c.stderr, "report:", path)
	}
	return nil
}
