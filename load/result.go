package load

import (
	"time"

	"iop/load/fleet"
	"iop/load/ledger"
	"iop/load/measure"
	"iop/load/report"
)

// Result is what one process found in a run, or several together: what a report is made of. It travels as JSON between
// the processes of a run.
type Result struct {
	StartedAt   time.Time
	TrafficAtS  float64 // when the traffic began, on the samples' clock
	DurationS   float64 // of the traffic
	Interrupted bool
	Processes   int

	Target    int // Edges
	Connected int // of them, at the end of the traffic
	Cut       int
	ConnectMS *float64
	Fleet     fleet.Stats

	Status, Summaries, Commands, Settled, Clients, Events, Readers measure.Tally

	Gaps    uint64
	Totals  ledger.Totals
	Storms  []report.Storm
	Server  report.Server
	Tool    report.Tool
	Samples []measure.Sample
}

// Merge adds up what several processes found, each with Edges of its own; the first one is the one that watched the server.
func Merge(all []*Result) *Result {
	sum := &Result{StartedAt: all[0].StartedAt, TrafficAtS: all[0].TrafficAtS, Server: all[0].Server}
	for _, r := range all {
		sum.add(r)
	}
	sum.Tool.BytesPerEdge = meanBytes(all)
	if n := sum.Server.BytesPerEdge; n != nil && sum.Target > 0 { // the first one counted its own Edges alone
		*n = *n * float64(all[0].Target) / float64(sum.Target)
	}
	if cpu := sum.Server.CPUPerStatus; cpu != nil && sum.Status.OK > 0 {
		*cpu = *cpu * float64(all[0].Status.OK) / float64(sum.Status.OK)
	}
	sum.Samples = mergeSamples(all)
	return sum
}

func (r *Result) add(o *Result) {
	r.DurationS = max(r.DurationS, o.DurationS)
	r.Interrupted = r.Interrupted || o.Interrupted
	r.Processes += o.Processes
	first := r.Target == 0
	r.Target += o.Target
	r.Connected += o.Connected
	r.Cut += o.Cut
	r.ConnectMS = longest(first, r.ConnectMS, o.ConnectMS)
	r.Fleet.Add(o.Fleet)
	for kind, to := range r.tallies() {
		to.Add(*o.tallies()[kind])
	}
	r.Gaps += o.Gaps
	r.Totals.Add(o.Totals)
	r.Storms = mergeStorms(first, r.Storms, o.Storms)
	if o.Tool.ResidentBytes != nil {
		resident := *o.Tool.ResidentBytes
		if r.Tool.ResidentBytes != nil {
			resident += *r.Tool.ResidentBytes
		}
		r.Tool.ResidentBytes = &resident
	}
}

func (r *Result) tallies() map[string]*measure.Tally {
	return map[string]*measure.Tally{"status": &r.Status, "summaries": &r.Summaries, "commands": &r.Commands, "settled": &r.Settled,
		"clients": &r.Clients, "events": &r.Events, "readers": &r.Readers}
}

// longest is the longer of two times; nil if one of them never ended.
func longest(first bool, a, b *float64) *float64 {
	if first {
		return b
	}
	if a == nil || b == nil {
		return nil
	}
	return new(max(*a, *b))
}

// mergeStorms: every process has the same ones, each on its own Edges.
func mergeStorms(first bool, a, b []report.Storm) []report.Storm {
	if first {
		return append([]report.Storm{}, b...)
	}
	for i := range min(len(a), len(b)) {
		a[i].Edges += b[i].Edges
		a[i].Back = longest(false, a[i].Back, b[i].Back)
	}
	return a
}

func meanBytes(all []*Result) *float64 {
	bytes, edges := 0.0, 0
	for _, r := range all {
		if b := r.Tool.BytesPerEdge; b != nil {
			bytes += *b * float64(r.Target)
			edges += r.Target
		}
	}
	if edges == 0 {
		return nil
	}
	return new(bytes / float64(edges))
}

// mergeSamples puts together what was at the same time, by the first one's clock.
func mergeSamples(all []*Result) []measure.Sample {
	sums := append([]measure.Sample{}, all[0].Samples...)
	for _, r := range all[1:] {
		j := 0
		for i := range sums {
			for j+1 < len(r.Samples) && r.Samples[j+1].AtS <= sums[i].AtS {
				j++
			}
			if j < len(r.Samples) {
				sums[i].Add(r.Samples[j])
			}
		}
	}
	return sums
}

// Report makes the report of a run and holds it to thresholds.
func (r *Result) Report(s *Scenario, thresholds []report.Threshold) *report.Report {
	out := &report.Report{
		Scenario: s.Name, Description: s.Description, StartedAt: r.StartedAt, TrafficAtS: r.TrafficAtS, DurationS: r.DurationS,
		Interrupted: r.Interrupted, Processes: r.Processes,
		Edges: report.Edges{Target: r.Target, Connected: r.Connected, Cut: r.Cut, Reconnects: r.Fleet.Reconnects, Hellos: r.Fleet.Hellos,
			Heartbeats: r.Fleet.Heartbeats, Snapshots: r.Fleet.Snapshots, Events: r.Fleet.Events, Troubles: r.Fleet.Troubles,
			ConnectMS: r.ConnectMS},
		Status: report.Of(r.Status), Summaries: report.Of(r.Summaries), Commands: report.Of(r.Commands), Settled: report.Of(r.Settled),
		Clients: report.Of(r.Clients), Events: report.Of(r.Events), Readers: report.Of(r.Readers),
		Gaps: r.Gaps, Totals: r.Totals, Server: r.Server, Tool: r.Tool, Samples: r.Samples,
		Reconnect: report.Reconnect{Storms: r.Storms, All: slowest(r.Storms)},
	}
	if r.ConnectMS != nil {
		out.Edges.ConnectRate = new(1000 * float64(r.Target) / *r.ConnectMS)
	}
	out.Judge(thresholds)
	return out
}

// slowest is the time of the storm that took longest; nil if there was none, or one never ended.
func slowest(storms []report.Storm) (all *float64) {
	for i, s := range storms {
		all = longest(i == 0, all, s.Back)
	}
	return all
}
