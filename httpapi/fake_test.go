package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// fakePlane answers as a test says; what a test doesn't say is not to be asked.
type fakePlane struct {
	views      []*actors.View
	fleetFault *wire.Fault
	status     func(edgeID string, timeout time.Duration) actors.StatusReply
	gather     func(match func(*actors.View) bool, maxAge, timeout time.Duration) actors.FleetReply
	command    func(ctx context.Context, ask *actors.CommandAsk) actors.CommandReply
	operation  func(edgeID, operationID string) (*actors.Operation, *wire.Fault)
	operations func(q actors.OperationQuery) actors.OperationPage
	events     func(q actors.EventQuery) actors.EventPage
	subscribe  func(after string) *actors.Subscription
}

func (f *fakePlane) Fleet(context.Context) (*actors.Fleet, *wire.Fault) {
	if f.fleetFault != nil {
		return nil, f.fleetFault
	}
	return actors.NewFleet(time.Now(), f.views...), nil
}

func (f *fakePlane) Status(_ context.Context, edgeID string, timeout time.Duration) actors.StatusReply {
	return f.status(edgeID, timeout)
}

func (f *fakePlane) Gather(_ context.Context, match func(*actors.View) bool, maxAge, timeout time.Duration) (actors.FleetReply, *wire.Fault) {
	if f.fleetFault != nil {
		return actors.FleetReply{}, f.fleetFault
	}
	if f.gather != nil {
		return f.gather(match, maxAge, timeout), nil
	}
	return actors.FleetReply{Fleet: actors.NewFleet(time.Now(), f.views...)}, nil
}

func (f *fakePlane) Command(ctx context.Context, ask *actors.CommandAsk) actors.CommandReply {
	return f.command(ctx, ask)
}

func (f *fakePlane) Operation(_ context.Context, edgeID, operationID string) (*actors.Operation, *wire.Fault) {
	return f.operation(edgeID, operationID)
}

func (f *fakePlane) Operations(_ context.Context, q actors.OperationQuery) (actors.OperationPage, *wire.Fault) {
	return f.operations(q), nil
}

func (f *fakePlane) Events(_ context.Context, q actors.EventQuery) (actors.EventPage, *wire.Fault) {
	return f.events(q), nil
}

func (f *fakePlane) Subscribe(_ context.Context, after string) (*actors.Subscription, *wire.Fault) {
	return f.subscribe(after), nil
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newServer makes a Server on a loopback address without auth; change may say otherwise.
func newServer(plane Plane, change ...func(*Options)) *Server {
	opts := Options{
		Plane:    plane,
		Keys:     func() *actors.Keyring { return &actors.Keyring{} },
		Loopback: true,
		Ready: func() (bool, map[string]bool, []string) {
			return true, map[string]bool{"http": true}, []string{"auth: none"}
		},
		Version: "1.2.3", Commit: "abc", MaxFrameBytes: wire.DefaultMaxFrameBytes,
		Registry: prometheus.NewRegistry(), Log: zerolog.Nop(),
	}
	for _, f := range change {
		f(&opts)
	}
	return New(opts)
}

func withOperators(o *Options) {
	keys := &actors.Keyring{Operators: []actors.OperatorKey{
		{Name: "vera", Role: actors.Viewer, SHA256: sha256.Sum256([]byte("view-token"))},
		{Name: "otto", Role: actors.Operator, SHA256: sha256.Sum256([]byte("op-token"))},
	}}
	o.Keys = func() *actors.Keyring { return keys }
}

// exchange is a request and its answer.
type exchange struct {
	*httptest.ResponseRecorder
	method, target string
}

// do sends a request past any client that would tidy it up. Headers come in pairs; a body is JSON unless they say otherwise.
func do(s http.Handler, method, target, body string, headers ...string) exchange {
	r := httptest.NewRequest(method, "http://localhost/", strings.NewReader(body))
	r.RequestURI = target
	if u, err := r.URL.Parse(target); err == nil {
		r.URL = u
	}
	if path, query, _ := strings.Cut(target, "?"); strings.HasPrefix(target, "/") { // as a server would read it, `//` and all
		r.URL.Opaque, r.URL.Host, r.URL.Scheme, r.URL.RawQuery = "", "", "", query
		r.URL.Path, r.URL.RawPath = unescaped(path), path
	}
	r.Host = "localhost"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return exchange{w, method, target}
}

// object is the answer's body.
func (e exchange) object(t testing.TB) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := json.Unmarshal(e.Body.Bytes(), &o); err != nil {
		t.Fatalf("%s %s: not a JSON object: %v: %.200s", e.method, e.target, err, e.Body)
	}
	return o
}

// wantProblem checks that the answer is a whole problem with this code.
func (e exchange) wantProblem(t testing.TB, code wire.Code) map[string]any {
	t.Helper()
	if e.Code != statuses[code] {
		t.Fatalf("%s %s: status %d, want %d (%.300s)", e.method, e.target, e.Code, statuses[code], e.Body)
	}
	o := e.object(t)
	h := e.Result().Header
	if h.Get("Content-Type") != problemType || o["code"] != string(code) || o["type"] != "about:blank" ||
		o["title"] != http.StatusText(e.Code) || o["status"] != float64(e.Code) || o["detail"] == "" ||
		o["request_id"] == "" || o["request_id"] != h.Get(requestIDHeader) {
		t.Fatalf("%s %s: not a whole %s problem: %s %.300s", e.method, e.target, code, h.Get("Content-Type"), e.Body)
	}
	return o
}

// want checks that the answer is 200 and gives its body.
func (e exchange) want(t testing.TB) map[string]any {
	t.Helper()
	if e.Code != http.StatusOK {
		t.Fatalf("%s %s: status %d: %.300s", e.method, e.target, e.Code, e.Body)
	}
	return e.object(t)
}

// at walks a path such as "nodes.0.name" and gives what is there as text.
func at(v any, path string) string {
	for _, key := range strings.Split(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(t) {
				return "absent"
			}
			v = t[i]
		default:
			return "absent"
		}
	}
	b, _ := json.Marshal(v)
	return strings.Trim(string(b), `"`)
}

// wantAt compares pairs of path and text.
func wantAt(t testing.TB, v any, pairs ...string) {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if got := at(v, pairs[i]); got != pairs[i+1] {
			t.Errorf("%s is %s, want %s", pairs[i], got, pairs[i+1])
		}
	}
}

func counters(capacity, inFlight, queued uint32) *iopv1.ProviderCounters {
	return &iopv1.ProviderCounters{Capacity: capacity, InFlight: inFlight, Queued: queued}
}

// site is a snapshot of one ready node and one that isn't, on which a careless Edge shows numbers.
func site(edgeID string, at time.Time) *actors.Snapshot {
	return actors.NewSnapshot(edgeID, &iopv1.EdgeStatusResponse{EdgeId: edgeID, ObservedAt: timestamppb.New(at), Nodes: []*iopv1.EdgeNodeSnapshot{
		{NodeId: "n1", Name: "gpu-1", Connected: true, Labels: map[string]string{"gpu": "h200", "a": "b"}, Providers: []*iopv1.EdgeProviderSnapshot{
			{ProviderId: "p1", Type: "vllm", Models: []string{"m-small", "m-large"}, Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE,
				Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE, General: counters(8, 3, 1), LongContext: counters(2, 1, 0)},
		}},
		{NodeId: "n2", Connected: false, Providers: []*iopv1.EdgeProviderSnapshot{
			{ProviderId: "p2", Type: "ollama", Models: []string{"m-small", "m-small"}, Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE,
				Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE, General: counters(4, 2, 2), LongContext: counters(1, 1, 1)},
		}},
	}}, at)
}

// connectedEdge is a View heard from a second ago.
func connectedEdge(edgeID string, snapshot *actors.Snapshot) *actors.View {
	return &actors.View{EdgeID: edgeID, Name: "Edge " + edgeID, Version: "0.1", InstanceID: "i-1", Connected: true,
		ConnectedAt: time.Now().Add(-time.Hour), Connections: 1, Pulse: actors.NewPulse(time.Second, 15*time.Second, snapshot)}
}

// staleEdge is connected, but was not heard from for two intervals.
func staleEdge(edgeID string, snapshot *actors.Snapshot) *actors.View {
	v := connectedEdge(edgeID, nil)
	v.Pulse = actors.NewPulse(30*time.Second, 15*time.Second, snapshot)
	return v
}

// goneEdge has no connection now.
func goneEdge(edgeID string, snapshot *actors.Snapshot) *actors.View {
	v := connectedEdge(edgeID, snapshot)
	v.Connected, v.DisconnectedAt, v.DisconnectReason = false, time.Now().Add(-time.Minute), actors.HeartbeatTimeout
	return v
}

func unescaped(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}

// answered is how an Edge's snapshot comes to who asked for it.
func answered(snapshot *actors.Snapshot) actors.StatusReply {
	return actors.StatusReply{Snapshot: snapshot, Nodes: snapshot.Nodes()}
}
