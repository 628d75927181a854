package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"iop/wire"
)

// wireMetrics are what goes over the two wires. The types of frames are the protocol's own words and "other".
type wireMetrics struct{ system counting }

var (
	wireFrames       = desc("iop_wire_frames_total", "Frames, by the wire, the direction as seen from here, and what they carry.", "wire", "direction", "type")
	wireBytes        = desc("iop_wire_bytes_total", "Bytes of those frames, without headers.", "wire", "direction", "type")
	wireQueuedFrames = desc("iop_wire_queued_frames", "Frames that wait to be written now, in all connections together.", "wire")
	wireQueuedBytes  = desc("iop_wire_queued_bytes", "Bytes that wait to be written now, in all connections together.", "wire")
	wireRefused      = desc("iop_wire_frames_refused_total", "Frames that were not sent because their connection's queue was full.", "wire")
	unmatchedAnswers = desc("iop_wire_unmatched_answers_total", "Answers that belonged to nothing pending: late, doubled or made up.")
	foreignSnapshots = desc("iop_wire_foreign_snapshots_total", "Snapshots that named another Edge than the one that sent them, and were dropped.")
)

// Describe implements prometheus.Collector.
func (wireMetrics) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, wireFrames, wireBytes, wireQueuedFrames, wireQueuedBytes, wireRefused, unmatchedAnswers, foreignSnapshots)
}

// Collect implements prometheus.Collector.
func (w wireMetrics) Collect(ch chan<- prometheus.Metric) {
	m := w.system.Metrics()
	counter(ch, unmatchedAnswers, m.UnmatchedAnswers)
	counter(ch, foreignSnapshots, m.ForeignSnapshots)
	collectTraffic(ch, "edge", m.EdgeWire)
	collectTraffic(ch, "client", m.ClientWire)
}

// collectTraffic leaves out the types that were never seen: most pairs of a type and a direction can't be.
func collectTraffic(ch chan<- prometheus.Metric, name string, t *wire.Traffic) {
	t.Each(func(direction, body string, frames, bytes int64) {
		if frames > 0 {
			counter(ch, wireFrames, frames, name, direction, body)
			counter(ch, wireBytes, bytes, name, direction, body)
		}
	})
	frames, bytes := t.Waiting()
	gauge(ch, wireQueuedFrames, float64(frames), name)
	gauge(ch, wireQueuedBytes, float64(bytes), name)
	counter(ch, wireRefused, t.Refused(), name)
}
