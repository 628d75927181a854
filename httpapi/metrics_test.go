package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"iop/actors"
	"iop/wire"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newServer(&fakePlane{views: []*actors.View{connectedEdge("hidden-id", nil)}}, func(o *Options) { o.Registry = registry })
	for _, target := range []string{"/edges/hidden-id", "/edges/hidden-id?x=1", "/edges/hidden-2", "/hidden-3", "/edges/hidden%2Fid", "//hidden-4"} {
		do(s, http.MethodGet, target, "")
	}
	do(s, "HIDDEN", "/edges/hidden-id", "")
	e := do(s, http.MethodGet, "/metrics", "")
	if e.Code != http.StatusOK || !strings.HasPrefix(e.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s", e.Code, e.Header().Get("Content-Type"))
	}
	text := e.Body.String()
	for _, want := range []string{
		`iop_http_requests_total{method="GET",route="/edges/{id}",status="200"} 2`,
		`iop_http_requests_total{method="GET",route="/edges/{id}",status="400"} 1`,
		`iop_http_requests_total{method="GET",route="/edges/{id}",status="404"} 1`,
		`iop_http_requests_total{method="GET",route="other",status="404"} 2`,
		`iop_http_requests_total{method="other",route="/edges/{id}",status="405"} 1`,
		`iop_http_request_duration_seconds_count{method="GET",route="/edges/{id}"} 4`,
		`iop_http_event_streams 0`,
		`iop_http_requests_in_flight 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(strings.ToLower(text), "hidden") {
		t.Errorf("a metric holds what a caller made up:\n%s", text)
	}
	if all := do(s, http.MethodGet, "/metrics?name[]=iop_http_event_streams&x=1", "").Body.String(); !strings.Contains(all, "iop_http_requests_in_flight 1\n") {
		t.Errorf("an unknown parameter is not ignored:\n%s", all)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

// A caller who hangs up is no failure of the Control Plane.
func TestDesertedFailures(t *testing.T) {
	registry := prometheus.NewRegistry()
	plane := everything(nil)
	ctx, hangUp := context.WithCancel(context.Background())
	plane.status = func(string, time.Duration) actors.StatusReply {
		hangUp()
		return actors.StatusReply{Fault: &wire.Fault{Code: wire.EdgeTimeout, Message: "late"}}
	}
	s := newServer(plane, func(o *Options) { o.Registry = registry })
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/edges/x/status", nil)
	s.ServeHTTP(httptest.NewRecorder(), r)
	want := `iop_http_requests_total{method="GET",route="/edges/{id}/status",status="deserted"} 1`
	if text := do(s, http.MethodGet, "/metrics", "").Body.String(); !strings.Contains(text, want) {
		t.Errorf("lacks %s", want)
	}
}

// A live stream's length is no duration.
func TestStreamsHaveNoDuration(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newServer(everything(nil), func(o *Options) { o.Registry = registry })
	do(s, http.MethodGet, "/fleet/events", "", "Accept", streamType)
	if n, err := testutil.GatherAndCount(registry, "iop_http_request_duration_seconds"); n != 0 || err != nil {
		t.Errorf("%d durations, %v", n, err)
	}
	if n, err := testutil.GatherAndCount(registry, "iop_http_requests_total"); n != 1 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
}

// A reader of /metrics that hangs up fills no log; what goes wrong in gathering does.
func TestWhatMetricsLog(t *testing.T) {
	var log bytes.Buffer
	l := promLog{zerolog.New(&log)}
	l.Println("error encoding and sending metric family:", &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)})
	if log.Len() > 0 {
		t.Errorf("of one that hung up: %s", &log)
	}
	l.Println("error gathering metrics:", errors.New("a collector is broken"))
	if !strings.Contains(log.String(), "a collector is broken") {
		t.Errorf("of a fault: %s", &log)
	}
}
