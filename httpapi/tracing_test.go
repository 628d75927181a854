package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"iop/actors"
	"iop/wire"
)

// traced answers one request and gives the spans that it made, the request's last.
func traced(plane Plane, method, target string, headers ...string) []sdktrace.ReadOnlySpan {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	s := newServer(plane, func(o *Options) { o.Tracer = provider.Tracer("test") })
	do(s, method, target, "", headers...)
	return recorder.Ended()
}

func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes() {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func TestRequestSpans(t *testing.T) {
	plane := everything(nil)
	plane.status = func(edgeID string, _ time.Duration) actors.StatusReply {
		if edgeID == "panics" {
			panic("on purpose")
		}
		return actors.StatusReply{Fault: &wire.Fault{Code: wire.EdgeTimeout, Message: "late"}}
	}
	for name, test := range map[string]struct {
		method, target string
		span           string
		status         string
		edgeID         string
		code           codes.Code
	}{
		"fine":              {"GET", "/edges/x", "GET /edges/{id}", "200", "x", codes.Unset},
		"a caller's fault":  {"POST", "/edges/x", "POST /edges/{id}", "405", "x", codes.Unset},
		"an Edge's fault":   {"GET", "/edges/x/status", "GET /edges/{id}/status", "504", "x", codes.Error},
		"a fault of ours":   {"GET", "/edges/panics/status", "GET /edges/{id}/status", "500", "panics", codes.Error},
		"no such path":      {"GET", "/made-up", "GET other", "404", "", codes.Unset},
		"no such method":    {"MADEUP", "/edges/x", "other /edges/{id}", "405", "x", codes.Unset},
		"an id that's none": {"GET", "/edges/made%20up%FF", "GET /edges/{id}", "400", "", codes.Unset},
		"a health check":    {"GET", "/healthz", "GET /healthz", "200", "", codes.Unset},
	} {
		spans := traced(plane, test.method, test.target, "X-Request-Id", "r-1")
		last := spans[len(spans)-1]
		a := attributesOf(last)
		if last.Name() != test.span || a[statusKey] != test.status || a[edgeIDKey] != test.edgeID || last.Status().Code != test.code || a[requestIDKey] != "r-1" {
			t.Errorf("%s: %s %v %v", name, last.Name(), a, last.Status())
		}
		for _, s := range spans {
			if strings.Contains(strings.ToLower(s.Name()), "made") {
				t.Errorf("%s: a span's name holds what a caller made up: %s", name, s.Name())
			}
		}
	}
}

// An ask of an Edge that failed says so, below its request.
func TestSpansOfAsks(t *testing.T) {
	plane := everything(nil)
	busy := &wire.Fault{Code: wire.EdgeBusy, Message: "busy"}
	plane.status = func(string, time.Duration) actors.StatusReply { return actors.StatusReply{Fault: busy} }
	plane.command = func(context.Context, *actors.CommandAsk) actors.CommandReply {
		return actors.CommandReply{Fault: busy, Operation: &actors.Operation{ID: "op-1"}}
	}
	spans := traced(plane, http.MethodGet, "/edges/x/status")
	if len(spans) != 2 || spans[0].Name() != "edge status" || spans[0].Parent().SpanID() != spans[1].SpanContext().SpanID() ||
		attributesOf(spans[0])[faultKey] != "edge_busy" || spans[0].Status().Code != codes.Error {
		t.Errorf("%v", spans)
	}
	recorder := tracetest.NewSpanRecorder()
	p := tracedPlane{Plane: plane, tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")}
	p.Command(context.Background(), &actors.CommandAsk{EdgeID: "x", Operation: "restart"})
	a := attributesOf(recorder.Ended()[0])
	if a[operationIDKey] != "op-1" || a[operationKey] != "restart" || a[edgeIDKey] != "x" || a[faultKey] != "edge_busy" {
		t.Errorf("%v", a)
	}
	if spans := traced(plane, http.MethodGet, "/fleet/summary"); len(spans) != 2 || spans[0].Name() != "fleet status" {
		t.Errorf("%v", spans)
	}
}
