package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// metrics are rate, errors and duration by route. No label holds what a caller or an Edge made up.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(r prometheus.Registerer, inFlight func() int) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "iop_http_requests_total", Help: "HTTP requests answered, by route, method and status; deserted where the caller hung up before a failure.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "iop_http_request_duration_seconds", Help: "Time to answer HTTP requests, live streams not counted.",
			// From an answer out of memory to a command that waits for its Edge.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120},
		}, []string{"route", "method"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "iop_http_event_streams", Help: "Live event streams that are open.",
		}),
	}
	underWay := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "iop_http_requests_in_flight", Help: "HTTP requests under way, live streams included and health checks not.",
	}, func() float64 { return float64(inFlight()) })
	r.MustRegister(m.requests, m.duration, m.streams, underWay)
	return m
}

func (m *metrics) observe(c *call, took time.Duration) {
	route, method := c.routeName(), knownMethod(c.r.Method)
	status := strconv.Itoa(c.status)
	if c.deserted() {
		status = "deserted" // an alarm on 5xx must not go off because callers hang up
	}
	m.requests.WithLabelValues(route, method, status).Inc()
	if !c.streamed {
		m.duration.WithLabelValues(route, method).Observe(took.Seconds())
	}
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

func newMetricsHandler(g prometheus.Gatherer, log zerolog.Logger) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, ErrorLog: promLog{log}})
}

// promLog keeps what goes wrong while metrics are gathered out of the answer. Of a reader that hung up it would be told once a
// family, and that is no fault.
type promLog struct{ log zerolog.Logger }

func (l promLog) Println(v ...any) {
	for _, said := range v {
		if err, ok := said.(error); ok && hungUp(err) {
			return
		}
	}
	l.log.Error().Str("said", fmt.Sprint(v...)).Msg("metrics")
}

func hungUp(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, context.Canceled)
}

// showMetrics hides the query from promhttp, which would leave out all metrics but those of a name[]: an unknown parameter is
// ignored here.
func (s *Server) showMetrics(c *call) *problem {
	r, u := *c.r, *c.r.URL
	r.URL, u.RawQuery = &u, ""
	s.exposition.ServeHTTP(c, &r)
	return nil
}
