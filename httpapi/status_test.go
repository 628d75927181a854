package httpapi

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestStatusLive(t *testing.T) {
	var asked time.Duration
	plane := &fakePlane{status: func(edgeID string, timeout time.Duration) actors.StatusReply {
		asked = timeout
		return answered(site(edgeID, time.Now()))
	}}
	s := newServer(plane)
	o := do(s, http.MethodGet, "/edges/x/status?timeout=3s", "").want(t)
	if asked != 3*time.Second {
		t.Errorf("asked with %v", asked)
	}
	wantAt(t, o, "edge_id", "x", "connected", "true", "source", "live", "stale", "false",
		"nodes.0.node_id", "n1", "nodes.0.name", "gpu-1", "nodes.0.connected", "true", "nodes.0.labels", `{"a":"b","gpu":"h200"}`,
		"nodes.0.providers.0", `{"general":{"capacity":8,"in_flight":3,"queued":1},"health":"online","long_context":{"capacity":2,"in_flight":1,"queued":0},`+
			`"models":["m-small","m-large"],"provider_id":"p1","status":"available","type":"vllm"}`,
		"nodes.1.connected", "false", "nodes.1.name", "null", "nodes.1.labels", "{}",
		"nodes.1.providers.0", `{"general":{"capacity":0,"in_flight":0,"queued":0},"health":"offline","long_context":{"capacity":0,"in_flight":0,"queued":0},`+
			`"models":["m-small","m-small"],"provider_id":"p2","status":"unavailable","type":"ollama"}`)
	for _, key := range []string{"observed_at", "received_at"} {
		if _, err := time.Parse(timeLayout, o[key].(string)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	do(s, http.MethodGet, "/edges/x/status", "").want(t)
	if asked != defaultStatusTimeout {
		t.Errorf("asked with %v by default", asked)
	}
}

func TestStatusOfASparseSnapshot(t *testing.T) {
	snapshot := actors.NewSnapshot("x", &iopv1.EdgeStatusResponse{Nodes: []*iopv1.EdgeNodeSnapshot{
		{Connected: true, Providers: []*iopv1.EdgeProviderSnapshot{{Status: 77, Health: -1}}}, {}}}, time.Now())
	b := appendStatus(nil, snapshot, statusOrigin{live: true, connected: true})
	if !json.Valid(b) {
		t.Fatalf("not JSON: %s", b)
	}
	var o map[string]any
	_ = json.Unmarshal(b, &o)
	wantAt(t, o, "observed_at", "null", "age_ms", "0", "nodes.0.node_id", "", "nodes.0.providers.0",
		`{"general":{"capacity":0,"in_flight":0,"queued":0},"health":"unspecified","long_context":{"capacity":0,"in_flight":0,"queued":0},`+
			`"models":[],"provider_id":"","status":"unspecified","type":null}`, "nodes.1.providers", "[]")
	empty := appendStatus(nil, actors.NewSnapshot("x", &iopv1.EdgeStatusResponse{}, time.Now()), statusOrigin{})
	_ = json.Unmarshal(empty, &o)
	wantAt(t, o, "nodes", "[]", "source", "cached", "stale", "true", "connected", "false")
	far := actors.NewSnapshot("x", &iopv1.EdgeStatusResponse{ObservedAt: &timestamppb.Timestamp{Seconds: 1 << 60}}, time.Now())
	_ = json.Unmarshal(appendStatus(nil, far, statusOrigin{}), &o)
	wantAt(t, o, "observed_at", "null")
}

func TestStatusFromWhatIsKept(t *testing.T) {
	asked := 0
	plane := &fakePlane{
		views: []*actors.View{connectedEdge("young", site("young", time.Now().Add(-10*time.Second))),
			goneEdge("gone", site("gone", time.Now().Add(-10*time.Second))), connectedEdge("silent", nil)},
		status: func(edgeID string, _ time.Duration) actors.StatusReply {
			asked++
			return answered(site(edgeID, time.Now()))
		},
	}
	s := newServer(plane)
	o := do(s, http.MethodGet, "/edges/young/status?max_age=1m", "").want(t)
	wantAt(t, o, "source", "cached", "connected", "true", "stale", "false", "nodes.0.node_id", "n1")
	if age := o["age_ms"].(float64); age < 10_000 || age > 20_000 {
		t.Errorf("age_ms %v", age)
	}
	wantAt(t, do(s, http.MethodGet, "/edges/gone/status?max_age=1m", "").want(t), "source", "cached", "connected", "false", "stale", "true",
		"nodes.0.connected", "true", "nodes.0.providers.0.general.capacity", "8")
	do(s, http.MethodGet, "/edges/nobody/status?max_age=1m", "").wantProblem(t, wire.EdgeNotFound)
	if asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	for i, target := range []string{"/edges/young/status?max_age=5s", "/edges/young/status?max_age=0s", "/edges/silent/status?max_age=1m", "/edges/young/status?max_age="} {
		wantAt(t, do(s, http.MethodGet, target, "").want(t), "source", "live")
		if asked != i+1 {
			t.Errorf("%s: asked %d times in all, want %d", target, asked, i+1)
		}
	}
}

func TestStatusFailures(t *testing.T) {
	gone := goneEdge("x", nil)
	reply := func(code wire.Code) actors.StatusReply {
		return actors.StatusReply{Fault: &wire.Fault{Code: code, Message: "no"}}
	}
	var next actors.StatusReply
	s := newServer(&fakePlane{views: []*actors.View{gone}, status: func(string, time.Duration) actors.StatusReply { return next }})
	get := func() exchange { return do(s, http.MethodGet, "/edges/x/status", "") }
	for _, code := range []wire.Code{wire.EdgeNotFound, wire.EdgeTimeout, wire.ShuttingDown, wire.Internal} {
		next = reply(code)
		get().wantProblem(t, code)
	}
	next = reply(wire.EdgeBusy)
	e := get()
	e.wantProblem(t, wire.EdgeBusy)
	if e.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", e.Header().Get("Retry-After"))
	}
	next = reply(wire.EdgeError)
	wantAt(t, get().wantProblem(t, wire.EdgeError), "edge_error", "null")
	next.EdgeError = "INTERNAL"
	wantAt(t, get().wantProblem(t, wire.EdgeError), "edge_error", "INTERNAL")
	next = reply(wire.EdgeDisconnected)
	next.View = gone
	wantAt(t, get().wantProblem(t, wire.EdgeDisconnected), "disconnect_reason", "heartbeat_timeout")
	next.View = nil // it went while it was asked: the registry knows more by now
	o := get().wantProblem(t, wire.EdgeDisconnected)
	if at, err := time.Parse(timeLayout, at(o, "disconnected_at")); err != nil || !at.Equal(gone.DisconnectedAt) {
		t.Errorf("disconnected_at %v", o["disconnected_at"])
	}
	next = reply(wire.FailedPrecondition) // a code of the wire alone must not get out
	do(s, http.MethodGet, "/edges/x/status", "").wantProblem(t, wire.Internal)
	for _, query := range []string{"timeout=abc", "timeout=-1s", "timeout=31s", "timeout=0s", "max_age=x", "max_age=-1s", "timeout=1s&timeout=1s"} {
		do(s, http.MethodGet, "/edges/x/status?"+query, "").wantProblem(t, wire.InvalidRequest)
	}
}
