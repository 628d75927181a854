package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"iop/actors"
	"iop/wire"
)

func TestPathsAreExact(t *testing.T) {
	s := newServer(&fakePlane{views: []*actors.View{connectedEdge("a:b", nil), connectedEdge("x", nil)}})
	for target, code := range map[string]wire.Code{
		"/":                                  wire.NotFound,
		"/nope":                              wire.NotFound,
		"/edges/":                            wire.NotFound,
		"//edges":                            wire.NotFound,
		"/edges//status":                     wire.NotFound,
		"/edges/./status":                    wire.NotFound,
		"/edges/x/../x":                      wire.NotFound,
		"/edges/x/.":                         wire.NotFound,
		"/edges/x/nope":                      wire.NotFound,
		"/edges/x/status/":                   wire.NotFound,
		"/edges%2Fx":                         wire.NotFound,
		"/Edges":                             wire.NotFound,
		"*":                                  wire.NotFound,
		"/edges/a%2Fb":                       wire.InvalidRequest,
		"/edge%73":                           wire.NotFound,
		"/edges/x/st%61tus":                  wire.NotFound,
		"/%65dges/x/operations/op":           wire.NotFound,
		"/edges/x%3A1/st%61tus":              wire.NotFound,
		"/edges/a%2fb/status":                wire.InvalidRequest,
		"/edges/%2E%2E/status":               wire.InvalidRequest,
		"/edges/.x":                          wire.InvalidRequest,
		"/edges/a%00":                        wire.InvalidRequest,
		"/edges/%C3%A9":                      wire.InvalidRequest,
		"/edges/" + strings.Repeat("x", 129): wire.InvalidRequest,
		"/edges/" + strings.Repeat("x", 128): wire.EdgeNotFound,
		"/edges/X":                           wire.EdgeNotFound,
		"/edges/y/operations/a%2Fb":          wire.EdgeNotFound,
	} {
		do(s, http.MethodGet, target, "").wantProblem(t, code)
	}
	for _, target := range []string{"/edges/a:b", "/edges/a%3Ab", "/edges/%61%3ab"} {
		wantAt(t, do(s, http.MethodGet, target, "").want(t), "edge_id", "a:b")
	}
}

func TestMethods(t *testing.T) {
	s := newServer(&fakePlane{views: []*actors.View{connectedEdge("x", nil)}})
	for target, allow := range map[string]string{
		"/edges": "GET, HEAD", "/edges/x": "GET, HEAD", "/fleet/events": "GET, HEAD", "/healthz": "GET, HEAD",
		"/edges/x/commands": "POST",
	} {
		for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch, "BREW", "get"} {
			e := do(s, method, target, "")
			e.wantProblem(t, wire.MethodNotAllowed)
			if got := e.Header().Get("Allow"); got != allow {
				t.Errorf("%s %s: Allow %q, want %q", method, target, got, allow)
			}
		}
	}
	do(s, http.MethodGet, "/edges/x/commands", "").wantProblem(t, wire.MethodNotAllowed)
	do(s, http.MethodPost, "/edges", "{}").wantProblem(t, wire.MethodNotAllowed)
	do(s, http.MethodPost, "/nope", "{}").wantProblem(t, wire.NotFound)
	do(s, http.MethodPut, "/edges/.x", "{}").wantProblem(t, wire.InvalidRequest)
}

func TestHost(t *testing.T) {
	s := newServer(&fakePlane{})
	do(s, http.MethodGet, "/edges", "", "Host", "localhost:18080").want(t)
	do(s, http.MethodGet, "/edges", "", "Host", "evil.example:18080").wantProblem(t, wire.PermissionDenied)
	do(s, http.MethodGet, "/nope", "", "Host", "evil.example").wantProblem(t, wire.PermissionDenied)
	do(s, http.MethodGet, "/healthz", "", "Host", "evil.example").want(t)
	do(s, http.MethodGet, "/readyz", "", "Host", "evil.example").want(t)

	open := newServer(&fakePlane{}, func(o *Options) { o.Loopback = false })
	do(open, http.MethodGet, "/edges", "", "Host", "cp.example").want(t)
	guarded := newServer(&fakePlane{}, withOperators)
	do(guarded, http.MethodGet, "/edges", "", "Host", "cp.example", "Authorization", "Bearer view-token").want(t)
}

func TestOrigin(t *testing.T) {
	s := newServer(&fakePlane{})
	post := func(headers ...string) exchange {
		return do(s, http.MethodPost, "/edges/x/commands", `{"operation":"x"}`, headers...)
	}
	for _, headers := range [][]string{
		{"Origin", "http://evil.example"},
		{"Origin", "null"},
		{"Origin", "http://localhost:1"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", "http://localhost", "Sec-Fetch-Site", "cross-site"},
	} {
		post(headers...).wantProblem(t, wire.PermissionDenied)
	}
	for _, headers := range [][]string{
		{}, {"Origin", "http://localhost"}, {"Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"},
	} {
		post(headers...).wantProblem(t, wire.EdgeNotFound)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
		if got := do(s, method, "/edges", "", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"); got.Code != http.StatusForbidden {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	for _, headers := range [][]string{{"Origin", "http://localhost"}, {"Sec-Fetch-Site", "cross-site"}} { // the last is a link on another site
		do(s, http.MethodGet, "/edges", "", headers...).want(t)
	}
	for name, twice := range map[string][]string{"Origin": {"http://localhost", "http://evil.example"}, "Sec-Fetch-Site": {"same-origin", "cross-site"}} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r, w := httptest.NewRequest(method, "http://localhost/edges", nil), httptest.NewRecorder()
			r.Header[name] = twice
			if s.ServeHTTP(w, r); w.Code != http.StatusForbidden {
				t.Errorf("%s with two %s: %d", method, name, w.Code)
			}
		}
	}
	for _, path := range []string{healthPath, readyPath} {
		do(s, http.MethodGet, path, "", "Origin", "http://evil.example").want(t)
	}
}

func TestTokensAndRoles(t *testing.T) {
	s := newServer(&fakePlane{views: []*actors.View{connectedEdge("x", nil)}}, withOperators)
	for _, rt := range s.routes() {
		if rt.pattern == healthPath || rt.pattern == readyPath {
			do(s, rt.method, rt.pattern, "").want(t)
			continue
		}
		for _, given := range []string{"", "Bearer", "Bearer ", "Bearer nobody", "Basic view-token", "view-token", "Bearer view-token,op-token"} {
			e := do(s, rt.method, rt.pattern, "", "Authorization", given)
			e.wantProblem(t, wire.Unauthenticated)
			if e.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: no WWW-Authenticate", rt.pattern)
			}
		}
	}
	viewer, operator := []string{"Authorization", "Bearer view-token"}, []string{"Authorization", "bearer  op-token"}
	do(s, http.MethodGet, "/edges", "", viewer...).want(t)
	do(s, http.MethodGet, "/edges", "", operator...).want(t)
	do(s, http.MethodGet, "/nope", "", viewer...).wantProblem(t, wire.NotFound)
	do(s, http.MethodGet, "/nope", "").wantProblem(t, wire.Unauthenticated)
	do(s, http.MethodGet, "/edges/x/commands", "", viewer...).wantProblem(t, wire.MethodNotAllowed)
	// The role goes before the path, the id, the method, the media type and the body.
	do(s, http.MethodPost, "/edges/.x/commands", "nonsense", append(viewer, "Content-Type", "text/plain")...).wantProblem(t, wire.PermissionDenied)
	do(s, http.MethodPost, "/nope", "", viewer...).wantProblem(t, wire.PermissionDenied)
	do(s, http.MethodDelete, "/edges", "", viewer...).wantProblem(t, wire.PermissionDenied)
	do(s, http.MethodPost, "/edges/.x/commands", "nonsense", operator...).wantProblem(t, wire.InvalidRequest)
	do(s, http.MethodPost, "/edges/x/commands", "nonsense", append(operator, "Origin", "http://evil.example")...).wantProblem(t, wire.PermissionDenied)
	if _, ok := bearer(http.Header{"Authorization": {"Bearer a", "Bearer b"}}); ok {
		t.Error("of two Authorization headers one was taken")
	}
}

func TestRequestID(t *testing.T) {
	s := newServer(&fakePlane{})
	for given, kept := range map[string]bool{
		"abc-123": true, "A.b_C-9": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a\"b": false, "é": false, "a:b": false,
	} {
		got := do(s, http.MethodGet, "/version", "", requestIDHeader, given).Header().Get(requestIDHeader)
		if kept != (got == given) || !isToken(got) {
			t.Errorf("given %q, answered %q", given, got)
		}
	}
	h := http.Header{requestIDHeader: {"a", "b"}}
	if got := requestID(h); got == "a" || got == "b" {
		t.Errorf("of two ids %q was kept", got)
	}
}

func TestDrain(t *testing.T) {
	s := newServer(&fakePlane{}, withOperators)
	s.Drain()
	s.Drain()
	do(s, http.MethodGet, "/edges", "").wantProblem(t, wire.ShuttingDown)
	do(s, http.MethodPost, "/nope", "{}").wantProblem(t, wire.ShuttingDown)
	do(s, http.MethodGet, "/healthz", "").want(t)
	e := do(s, http.MethodGet, "/readyz", "")
	if e.Code != http.StatusServiceUnavailable || e.Header().Get("Content-Type") != jsonType {
		t.Errorf("readyz: %d %s", e.Code, e.Header().Get("Content-Type"))
	}
	wantAt(t, e.object(t), "ready", "false", "checks.http", "true", "warnings.0", "auth: none")
	if n := s.InFlight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

func TestSystemViews(t *testing.T) {
	s := newServer(&fakePlane{})
	wantAt(t, do(s, http.MethodGet, "/healthz", "").want(t), "status", "ok")
	wantAt(t, do(s, http.MethodGet, "/readyz", "").want(t), "ready", "true", "checks.http", "true")
	wantAt(t, do(s, http.MethodGet, "/version", "").want(t), "version", "1.2.3", "commit", "abc", "protocol_versions", "[1]")
	bare := newServer(&fakePlane{}, func(o *Options) {
		o.Ready = func() (bool, map[string]bool, []string) { return false, nil, nil }
	})
	if body := strings.TrimSpace(do(bare, http.MethodGet, "/readyz", "").Body.String()); body != `{"ready":false,"checks":{},"warnings":[]}` {
		t.Errorf("readyz: %s", body)
	}
}

func TestPanicsBecomeProblems(t *testing.T) {
	log := &lines{}
	s := newServer(&fakePlane{}, func(o *Options) { o.Log = zerolog.New(log) }) // the fake panics at what it wasn't told
	e := do(s, http.MethodGet, "/fleet/operations", "")
	o := e.wantProblem(t, wire.Internal)
	if strings.Contains(e.Body.String(), "nil pointer") {
		t.Errorf("the panic is shown: %s", e.Body)
	}
	if !strings.Contains(log.String(), o["request_id"].(string)) || !strings.Contains(log.String(), "nil pointer") {
		t.Errorf("the panic is not in the log: %s", log)
	}
	do(s, http.MethodGet, "/edges", "").want(t)
	if n := s.InFlight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

func TestAccessLog(t *testing.T) {
	log := &lines{}
	plane := &fakePlane{views: []*actors.View{connectedEdge("x", nil)}}
	plane.command = func(_ context.Context, ask *actors.CommandAsk) actors.CommandReply {
		return actors.CommandReply{Operation: &actors.Operation{ID: "op", EdgeID: ask.EdgeID, State: actors.Succeeded}}
	}
	s := newServer(plane, withOperators, func(o *Options) { o.Log = zerolog.New(log).Level(zerolog.InfoLevel) })
	do(s, http.MethodGet, "/edges?token=view-token", "", "Authorization", "Bearer view-token").want(t)
	if log.String() != "" {
		t.Errorf("a list is logged at info: %s", log)
	}
	do(s, http.MethodPost, "/edges/x/commands", `{"operation":"x"}`, "Authorization", "Bearer op-token", requestIDHeader, "r-1").want(t)
	for _, want := range []string{`"operator":"otto"`, `"request_id":"r-1"`, `"status":200`, `"path":"/edges/x/commands"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the command's line lacks %s: %s", want, log)
		}
	}
	if strings.Contains(log.String(), "-token") {
		t.Errorf("a token is in the log: %s", log)
	}
}
