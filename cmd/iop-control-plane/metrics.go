package main

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"iop/actors"
	"iop/cmd/internal/build"
	"iop/wire"
)

// counting has the actors' numbers: an actors.System.
type counting interface{ Metrics() actors.Metrics }

// newMetrics makes the registry that /metrics shows; the HTTP front adds its own. docs/operations.md has all of it.
func newMetrics(s counting, t *wire.ServerTLS, r *reloads, lostLines func() uint64) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(), lostLogLines(lostLines), actorMetrics{s}, wireMetrics{s}, reloadMetrics{r})
	if t != nil {
		registry.MustRegister(certificateExpiry(t))
	}
	return registry
}

func buildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iop_build_info", Help: "What this program was built from; always 1.",
		ConstLabels: prometheus.Labels{"version": build.Version(), "commit": build.Commit(), "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}

func lostLogLines(lost func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "iop_log_lost_lines_total", Help: "Lines that the log lost because it wasn't taken in time.",
	}, func() float64 { return float64(lost()) })
}

func certificateExpiry(t *wire.ServerTLS) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iop_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate in force ends.",
	}, func() float64 { return unixSeconds(t.CertificateExpiry()) })
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, value int64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func describe(ch chan<- *prometheus.Desc, descs ...*prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}
