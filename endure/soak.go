//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"iop/load/daemon"
)

// soakOptions say how large a run is.
type soakOptions struct {
	edges    int
	duration time.Duration
	rates    rates
	progress io.Writer
}

// config has small buffers, so that they are full soon, and what grows after that is a leak. An Edge keeps what it is asked in some
// 20 s, and not less: the load looks after its commands for that long. At 300 commands a second and 2,000 Edges that is 11 commands,
// which nearly every Edge has had after two minutes, and the fleet's buffers are full in seconds.
func (o *soakOptions) config() string {
	records := o.edgeRecords()
	return fmt.Sprintf(`server: {id: soak, http_listen: "127.0.0.1:0", wire_listen: "127.0.0.1:0", edge_wire_listen: "127.0.0.1:0", debug_listen: "127.0.0.1:0"}
edges: {retain_disconnected_max: 1000}
events: {fleet_buffer: %[1]d, edge_buffer: %[2]d}
audit: {fleet_buffer: %[1]d, edge_buffer: %[3]d}
log: {format: json}
`, fleetRecords, 2*records, records)
}

// edgeRecords is how many operations of an Edge the daemon keeps.
func (o *soakOptions) edgeRecords() int { return 8 + 20*o.rates.commands/o.edges }

// churn is how many Edges leave in a second.
func (o *soakOptions) churn() float64 { return churnPercent * float64(o.edges) / 100 }

// perEdge is how many commands an Edge has been sent after this long, on average.
func (o *soakOptions) perEdge(after time.Duration) float64 {
	return after.Seconds() * float64(o.rates.commands) / float64(o.edges)
}

// fills tells whether the load fills the daemon's buffers in this long. The Edges are drawn at random, so that some have had fewer
// commands than others: where the average is twice the buffer, all but a few in a thousand have had enough.
func (o *soakOptions) fills(after time.Duration) bool {
	perEdge := o.perEdge(after)
	return perEdge >= 2*float64(o.edgeRecords()) && perEdge*float64(o.edges) >= fleetRecords
}

// check refuses what can't be done, and what would put the findings of a short run on the page.
func (o *soakOptions) check(page string) error {
	switch {
	case o.edges < 1 || o.duration < 10*time.Second:
		return errors.New("--edges must be more than 0, and --duration at least 10s")
	case page != "" && o.duration < soakTime:
		return fmt.Errorf("--write needs a run of at least %v: --duration is %v", soakTime, o.duration)
	}
	return nil
}

const (
	soakTime     = 30 * time.Minute
	fleetRecords = 8192
	churnPercent = 2 // of the Edges, a second
	churnAway    = time.Second
	soakSamples  = 30 // in a run, but none sooner than soakLeast after another
	soakLeast    = 2 * time.Second
	warmLongest  = 4 * time.Minute // until the buffers are full, and half of a run that is short
)

func soakCommand(progress io.Writer) *cobra.Command {
	o := soakOptions{rates: rates{status: 50, commands: 300, clients: 1, readers: 2}, progress: progress}
	path, page := "", ""
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run under load for long; memory, goroutines and descriptors must stay flat",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(page); err != nil {
				return usageError{err}
			}
			if err := checkFileLimit(o.edges); err != nil {
				return err
			}
			r, err := runSoak(cmd.Context(), o)
			if err != nil {
				return err
			}
			text := r.text()
			fmt.Fprint(cmd.OutOrStdout(), text)
			if page != "" && !r.Interrupted {
				if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
					return fmt.Errorf("the page: %w", err)
				}
			}
			return errors.Join(writeReport(path, r), held(r.OK))
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.edges, "edges", 2000, "simulated Edges")
	f.DurationVar(&o.duration, "duration", soakTime, "how long")
	f.StringVar(&path, "report", "", "write the report as JSON to this `file`")
	f.StringVar(&page, "write", "", "write the report of a whole run as Markdown to this `file`; the run must last at least "+soakTime.String())
	return cmd
}

// soak is a run under way.
type soak struct {
	opts    soakOptions
	log     *logWatch
	daemon  *daemon.Daemon
	ask     *asker
	debug   *asker
	testbed *testbed
	pace    *pace
	books   map[string]uint64
	rested  time.Duration // the pauses
	report  *soakReport
}

// runSoak does a run and gives its report; an error when nothing could be done.
func runSoak(ctx context.Context, o soakOptions) (*soakReport, error) {
	dir, err := os.MkdirTemp("", "iop-soak")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := build(ctx, dir, false, o.progress); err != nil {
		return nil, err
	}
	s := &soak{opts: o, report: newSoakReport(o), pace: startPace()}
	defer s.pace.close()
	if s.log, err = newLogWatch(); err != nil {
		return nil, err
	}
	defer s.log.close()
	s.daemon, err = daemon.Start(daemon.Options{Bin: filepath.Join(dir, "iop-control-plane"), Config: o.config(), Output: s.log.write})
	if err != nil {
		return nil, err
	}
	defer s.daemon.Close()
	a := s.daemon.Addresses()
	s.ask, s.debug = newAsker("http://"+a.HTTP), newAsker("http://"+a.Debug)
	s.testbed = newTestbed("soak", where{s.ask.base, a.EdgeWire, "ws://" + a.Wire + "/client"}, o.edges, o.rates)
	defer s.testbed.close()
	if err := s.testbed.begin(ctx); err != nil {
		return nil, fmt.Errorf("the Edges don't connect: %w", err)
	}
	began := time.Now()
	if err := s.perform(ctx); err != nil {
		return nil, err
	}
	s.report.Missing = s.awaitAll(ctx)
	asked := time.Since(began) - s.rested
	s.testbed.endTraffic()
	s.report.Books = s.now()
	s.report.Broken = s.log.broken()
	s.report.AskedS, s.report.Requests = asked.Seconds(), s.testbed.requests(asked)
	s.report.CameBack = s.testbed.fleet.Stats().Reconnects
	s.report.judge()
	return s.report, nil
}

// awaitAll waits for the Edges that have left, and gives how many don't come back.
func (s *soak) awaitAll(ctx context.Context) (missing int) {
	for by := time.Now().Add(patience); ; {
		missing = s.testbed.missing()
		if missing == 0 || time.Now().After(by) || !sleep(ctx, lookEvery) {
			return missing
		}
	}
}

// now are the books as they are. Where the daemon is there all the time, Edges have no trouble.
func (s *soak) now() map[string]uint64 {
	books := s.testbed.books()
	maps.Copy(books, s.testbed.troubles())
	return books
}

// perform samples, while Edges come and go.
func (s *soak) perform(ctx context.Context) error {
	churning, enough := context.WithCancel(ctx)
	var churn sync.WaitGroup
	churn.Go(func() { s.testbed.fleet.Churn(churning, s.opts.churn(), churnAway) })
	defer churn.Wait()
	defer enough()
	began, every := time.Now(), max(soakLeast, s.opts.duration/soakSamples)
	for at := every; at <= s.opts.duration; at += every {
		if !sleep(ctx, time.Until(began.Add(at))) {
			s.report.Interrupted = true
			return nil
		}
		var one sample
		var err error
		resting := time.Now()
		s.testbed.traffic.Rest(func() { one, err = s.sample(ctx, time.Since(began)) })
		s.rested += time.Since(resting)
		if err != nil {
			return fmt.Errorf("%w; the daemon's last lines:\n%s", err, s.log.lines())
		}
		one.HeldUpMS = milliseconds(s.pace.since())
		now := s.now()
		one.Failed, s.books = grown(s.books, now), now
		s.report.Samples = append(s.report.Samples, one)
		fmt.Fprintf(s.opts.progress, "soak: %v of %v: %s\n", time.Since(began).Round(time.Second), s.opts.duration, one.text())
	}
	return nil
}

// looks are taken for a sample, of which the least counts: between a collection and a look the Edges go on, and make garbage.
const looks = 3

// sample reads what the daemon holds once what is garbage has gone. No request is under way then: an idle Edge has no goroutine, and so
// nearly all that there are would be those of the requests of the moment, which come and go.
func (s *soak) sample(ctx context.Context, at time.Duration) (sample, error) {
	one := sample{AtS: at.Seconds()}
	for i := range looks {
		status, _, err := s.debug.do(ctx, http.MethodPost, "/debug/freeosmemory", nil)
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("status %d", status)
		}
		if err != nil {
			return one, fmt.Errorf("memory can't be freed: %w", err)
		}
		v, err := s.ask.metrics("go_memstats_heap_alloc_bytes", "go_goroutines", "process_open_fds", "process_resident_memory_bytes")
		if err != nil {
			return one, err
		}
		for j := range one.Values {
			if i == 0 || v[j] < one.Values[j] {
				one.Values[j] = v[j]
			}
		}
	}
	return one, nil
}
