package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"iop/actors"
)

// newMetrics makes the registry that /metrics shows: Go's and the process's numbers, and the actors'.
func newMetrics(s *actors.System) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), actorMetrics{s})
	return r
}

// actorMetrics reads the actors' counters at each scrape. No label ever holds an edge_id.
type actorMetrics struct{ system *actors.System }

var (
	edgesConnected   = desc("iop_edges_connected", "Edges that own their id now.")
	unmatchedAnswers = desc("iop_wire_unmatched_answers_total", "Answers from Edges that belonged to nothing pending: late, doubled or made up.")
	foreignSnapshots = desc("iop_wire_foreign_snapshots_total", "Snapshots that named another Edge than the one that sent them, and were dropped.")
	takeovers        = desc("iop_edge_takeovers_total", "Claims of an edge_id that was owned.")
	eventsDropped    = desc("iop_events_dropped_total", "Live readers that were ended because they could not keep up.")
	deadLetters      = desc("iop_dead_letters_total", "Messages to actors that were gone.")
	helloRefusals    = desc("iop_hello_refusals_total", "Hellos of Edges that were refused, by code.", "code")
	operationSteps   = desc("iop_operation_steps_total", "What happened to commands, by kind of event.", "kind")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (actorMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{edgesConnected, unmatchedAnswers, foreignSnapshots, takeovers, eventsDropped, deadLetters, helloRefusals, operationSteps} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (a actorMetrics) Collect(ch chan<- prometheus.Metric) {
	m := a.system.Metrics()
	ch <- prometheus.MustNewConstMetric(edgesConnected, prometheus.GaugeValue, float64(m.EdgesConnected))
	for d, n := range map[*prometheus.Desc]int64{unmatchedAnswers: m.UnmatchedAnswers, foreignSnapshots: m.ForeignSnapshots,
		takeovers: m.Takeovers, eventsDropped: m.EventsDropped, deadLetters: m.DeadLetters} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	for code, n := range m.HelloRefusals {
		ch <- prometheus.MustNewConstMetric(helloRefusals, prometheus.CounterValue, float64(n), code)
	}
	for kind, n := range m.Operations {
		ch <- prometheus.MustNewConstMetric(operationSteps, prometheus.CounterValue, float64(n), string(kind))
	}
}
