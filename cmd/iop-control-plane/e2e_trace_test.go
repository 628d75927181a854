package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

// otlpReceiver is a collector that keeps what it is sent over OTLP/HTTP.
type otlpReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	about map[string]string // attributes of the resource
}

func newReceiver(t *testing.T) *otlpReceiver {
	r := &otlpReceiver{about: map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (o *otlpReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m collector.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &m) != nil {
		http.Error(w, "no OTLP", http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, resource := range m.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			o.about[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range resource.ScopeSpans {
			o.spans = append(o.spans, scope.Spans...)
		}
	}
	answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

// span is the one with this name and this value of an attribute.
func (o *otlpReceiver) span(t *testing.T, name, key, value string) *tracepb.Span {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []*tracepb.Span
	for _, s := range o.spans {
		if s.Name == name && attributeOf(s, key) == value {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %q with %s=%s in %v", len(found), name, key, value, o.spans)
	}
	return found[0]
}

func attributeOf(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if n := a.Value.GetIntValue(); n != 0 {
				return fmt.Sprint(n)
			}
			return a.Value.GetStringValue()
		}
	}
	return ""
}

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

// What the daemon traces reaches a collector: one span a request, one below it for the Edge, in the caller's trace. Nothing
// is exported before the drain here, so that the drain does it.
func TestTraces(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t)
	d := startDaemonIn(t, t.TempDir(), "server: {id: cp-1}\nlog: {level: debug}\n",
		otlpEndpoint+"="+receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=3600000", "OTEL_RESOURCE_ATTRIBUTES=site=seoul")
	e := d.connect(helloOf("e"))
	status := d.later(http.MethodGet, "/edges/e/status", "", "traceparent", "00-"+callersTrace+"-"+callersSpan+"-01", "X-Request-Id", "asked-1")
	m := e.next()
	e.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: &iopv1.EdgeStatusResponse{EdgeId: "e"}}})
	(<-status).is(200)
	command := d.postLater("e", `{"operation":"restart"}`, "X-Request-Id", "asked-2")
	received := e.command()
	if got := received.GetEdgeCommandRequest().RequestId; got != "asked-2" {
		t.Errorf("the Edge is told of request %q", got)
	}
	e.reply(received, succeeded)
	operationID := (<-command).is(200, "request_id", "asked-2").text("operation_id")
	d.get("/edges/e/operations/"+operationID).is(200, "request_id", "asked-2")
	d.get("/edges/nobody", "X-Request-Id", "asked-3", "traceparent", "nonsense").isProblem(404, "edge_not_found")
	d.signal(syscall.SIGTERM)
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	server := receiver.span(t, "GET /edges/{id}/status", "iop.request_id", "asked-1")
	if hex.EncodeToString(server.TraceId) != callersTrace || hex.EncodeToString(server.ParentSpanId) != callersSpan || server.Kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("not in the caller's trace: %v", server)
	}
	asked := receiver.span(t, "edge status", "iop.edge_id", "e")
	if string(asked.ParentSpanId) != string(server.SpanId) || string(asked.TraceId) != string(server.TraceId) || asked.Kind != tracepb.Span_SPAN_KIND_CLIENT {
		t.Errorf("not below its request: %v", asked)
	}
	for key, want := range map[string]string{"http.route": "/edges/{id}/status", "http.request.method": "GET", "http.response.status_code": "200", "iop.edge_id": "e"} {
		if got := attributeOf(server, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	posted := receiver.span(t, "POST /edges/{id}/commands", "iop.request_id", "asked-2")
	sent := receiver.span(t, "edge command", "iop.operation_id", operationID)
	if string(sent.ParentSpanId) != string(posted.SpanId) || len(posted.ParentSpanId) != 0 || attributeOf(sent, "iop.operation") != "restart" {
		t.Errorf("the command's spans: %v, %v", posted, sent)
	}
	if s := receiver.span(t, "GET /edges/{id}", "iop.request_id", "asked-3"); len(s.ParentSpanId) != 0 || s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("a caller's mistake with a traceparent that is none: %v", s)
	}
	for key, want := range map[string]string{"service.name": "iop-control-plane", "service.instance.id": "cp-1", "site": "seoul"} {
		if got := receiver.about[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	logged(t, d, "request", "request_id", "asked-1", "trace_id", callersTrace)
	logged(t, d, "command", "request_id", "asked-2", "operation_id", operationID, "edge_id", "e", "operation", "restart")
}

// logged waits for a line of the log with this message and these members.
func logged(t *testing.T, d *testDaemon, message string, members ...string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("a line %q with %v", message, members), func() bool {
		for line := range strings.Lines(d.said()) {
			var got map[string]any
			if json.Unmarshal([]byte(line), &got) != nil || got["message"] != message {
				continue
			}
			all := true
			for i := 0; i < len(members); i += 2 {
				all = all && got[members[i]] == members[i+1]
			}
			if all {
				return true
			}
		}
		return false
	})
}

// goroutines is a dump of the daemon's.
func (d *testDaemon) goroutines() string {
	d.t.Helper()
	response, err := http.Get("http://" + d.debug + "/debug/pprof/goroutine?debug=2")
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// Without the variable there is nothing of OpenTelemetry: no goroutine, no member in the log.
func TestNoTracesUnlessAskedFor(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t)
	for endpoint, want := range map[string]bool{"": false, receiver.URL: true} {
		d := startDaemonIn(t, t.TempDir(), "server: {debug_listen: \"127.0.0.1:0\"}\nlog: {level: debug}\n", otlpEndpoint+"="+endpoint)
		d.get("/edges", "traceparent", "00-"+callersTrace+"-"+callersSpan+"-01").is(200)
		if got := strings.Contains(d.goroutines(), "go.opentelemetry.io"); got != want {
			t.Errorf("endpoint %q: goroutines of OpenTelemetry: %v", endpoint, got)
		}
		if got := strings.Contains(d.said(), "trace_id"); got && !want {
			t.Errorf("endpoint %q: trace_id in the log: %v", endpoint, got)
		}
		d.signal(syscall.SIGTERM)
		if code := d.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// A collector that is gone harms nothing, and holds up the end for no more than its time.
func TestCollectorThatIsGone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	d := startDaemonIn(t, t.TempDir(), "", otlpEndpoint+"=http://"+l.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=3600000")
	d.get("/edges").is(200)
	d.signal(syscall.SIGTERM)
	if code := d.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(d.said(), "traces were not exported") {
		t.Error("the log doesn't say that traces were lost")
	}
}
