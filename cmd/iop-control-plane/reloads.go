package main

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What is reloaded: the configuration, on SIGHUP (auth, the log level, TLS files), and only the TLS files, when they change.
const (
	reloadConfig = "config"
	reloadTLS    = "tls"
)

// reloads remembers how reloading went, for metrics. The start counts as a first success of all that it has read.
type reloads struct {
	mu   sync.Mutex
	seen map[string]*reloadsOf
}

type reloadsOf struct {
	succeeded, failed int64
	lastFailed        bool
	lastSuccess       time.Time
}

func newReloads(read ...string) *reloads {
	r := &reloads{seen: map[string]*reloadsOf{}}
	for _, what := range read {
		r.seen[what] = &reloadsOf{lastSuccess: time.Now()}
	}
	return r
}

// done tells how a reload went; it gives err back.
func (r *reloads) done(what string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.seen[what]
	of.lastFailed = err != nil
	if err != nil {
		of.failed++
		return err
	}
	of.succeeded++
	of.lastSuccess = time.Now()
	return nil
}

type reloadMetrics struct{ reloads *reloads }

var (
	reloadsTotal      = desc("iop_reloads_total", "Reloads since the start: config is SIGHUP (auth, log level, TLS files), tls the TLS files when they change.", "what", "result")
	reloadSuccessful  = desc("iop_reload_last_successful", "Whether the last reload succeeded (1); 0: what was in force before still is.", "what")
	reloadLastSuccess = desc("iop_reload_last_success_timestamp_seconds", "When what is in force was read, at the start or by a reload.", "what")
)

// Describe implements prometheus.Collector.
func (reloadMetrics) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, reloadsTotal, reloadSuccessful, reloadLastSuccess)
}

// Collect implements prometheus.Collector.
func (m reloadMetrics) Collect(ch chan<- prometheus.Metric) {
	m.reloads.mu.Lock()
	defer m.reloads.mu.Unlock()
	for what, of := range m.reloads.seen {
		counter(ch, reloadsTotal, of.succeeded, what, "success")
		counter(ch, reloadsTotal, of.failed, what, "failure")
		successful := 1.0
		if of.lastFailed {
			successful = 0
		}
		gauge(ch, reloadSuccessful, successful, what)
		gauge(ch, reloadLastSuccess, unixSeconds(of.lastSuccess), what)
	}
}
