package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	iopv1 "iop/proto/iop/v1"
)

// TestOrderOfChecks gives each request two or more mistakes and wants the one named first in the contract.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, fmt.Sprintf(`auth:
  operators:
    - {name: alice, role: operator, token_sha256: %s}
    - {name: victor, role: viewer, token_sha256: %s}
`, hashOf("op-token"), hashOf("view-token")))
	h := helloOf("known")
	h.Operations = []string{"a"}
	d.connect(h)
	op := []string{"Authorization", "Bearer op-token"}
	view := []string{"Authorization", "Bearer view-token"}
	foreign := []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}
	plain := []string{"Content-Type", "text/plain"}
	longKey := []string{"Idempotency-Key", strings.Repeat("k", 129)}
	with := func(all ...[]string) (h []string) {
		for _, a := range all {
			h = append(h, a...)
		}
		return h
	}
	const good = `{"operation":"a"}`
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		"origin before token":      {"POST", "/edges/known/commands", good, foreign, 403, "permission_denied"},
		"token before role":        {"POST", "/edges/known/commands", good, nil, 401, "unauthenticated"},
		"token before path":        {"GET", "/nope", "", nil, 401, "unauthenticated"},
		"role before path":         {"POST", "/nope", good, view, 403, "permission_denied"},
		"role before id":           {"POST", "/edges/.x/commands", good, view, 403, "permission_denied"},
		"role before method":       {"DELETE", "/edges", "", view, 403, "permission_denied"},
		"path before method":       {"DELETE", "/nope", "", op, 404, "not_found"},
		"id before method":         {"DELETE", "/edges/.x", "", op, 400, "invalid_request"},
		"method before media type": {"PUT", "/edges/known/commands", good, with(op, plain), 405, "method_not_allowed"},
		"media type before size":   {"POST", "/edges/known/commands", strings.Repeat("x", 1<<20+1), with(op, plain), 415, "unsupported_media_type"},
		"size before body":         {"POST", "/edges/known/commands", strings.Repeat("x", 1<<20+1), op, 413, "payload_too_large"},
		"body before Edge":         {"POST", "/edges/nobody/commands", `{"operation":1}`, op, 400, "invalid_request"},
		"query before Edge":        {"POST", "/edges/nobody/commands?wait=perhaps", good, op, 400, "invalid_request"},
		"Edge before key's form":   {"POST", "/edges/nobody/commands", good, with(op, longKey), 404, "edge_not_found"},
		"operation before its key": {"POST", "/edges/known/commands", `{"operation":"b"}`, with(op, longKey), 422, "operation_unsupported"},
		"key's form":               {"POST", "/edges/known/commands", good, with(op, longKey), 400, "invalid_request"},
		"query before Edge, GET":   {"GET", "/edges/nobody/status?timeout=x", "", view, 400, "invalid_request"},
		"Edge before operation":    {"POST", "/edges/nobody/commands", `{"operation":"b"}`, op, 404, "edge_not_found"},
		"operation":                {"POST", "/edges/known/commands", `{"operation":"b"}`, op, 422, "operation_unsupported"},
	} {
		a := d.do(c.method, c.path, c.body, c.headers...)
		a.what = name
		a.isProblem(c.status, c.code)
		if c.status == 401 && a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: WWW-Authenticate %q", name, a.header.Get("WWW-Authenticate"))
		}
	}
	allow := d.do("POST", "/edges/known", good, op...).isProblem(405, "method_not_allowed").header.Get("Allow")
	if allow != "GET, HEAD" {
		t.Errorf("Allow: %q", allow)
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	for _, host := range []string{"localhost", "LOCALHOST:1", "localhost.", "localhost.:80", "127.0.0.1", "127.8.8.8:99", "[::1]", "[::1]:18080"} {
		a := d.get("/edges", "Host", host)
		a.what += " of " + host
		a.is(200)
	}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[fe80::1]", "0.0.0.0"} {
		a := d.get("/edges", "Host", host)
		a.what += " of " + host
		a.isProblem(403, "permission_denied")
		d.get("/healthz", "Host", host).is(200)
		d.get("/readyz", "Host", host).is(200)
	}
	for site, status := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404, "none": 404} {
		d.post("nobody", `{"operation":"a"}`, "Sec-Fetch-Site", site).is(status)
	}
	d.post("nobody", `{"operation":"a"}`, "Origin", "http://"+d.http).is(404)
	d.post("nobody", `{"operation":"a"}`, "Origin", "null").is(403)
	d.get("/edges", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site").isProblem(403, "permission_denied")
	d.get("/edges", "Sec-Fetch-Site", "cross-site").is(200) // a link on another site
}

func TestHeadWhereverGetIs(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	e.push(snapshotOf("e"))
	for _, path := range []string{"/healthz", "/readyz", "/version", "/metrics", "/openapi.yaml", "/edges", "/edges/e",
		"/edges/e/status?max_age=1h", "/edges/e/events", "/edges/e/operations", "/fleet/status", "/fleet/summary", "/fleet/models",
		"/fleet/events", "/fleet/operations"} {
		got, head := d.get(path), d.do("HEAD", path, "")
		if head.status != got.status || len(head.body) > 0 || head.header.Get("Content-Type") != got.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
	live := d.do("HEAD", "/fleet/events", "", "Accept", "text/event-stream").is(200)
	if live.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD on the live stream: %v", live.header)
	}
	d.do("HEAD", "/edges/nobody", "").is(404)
}

func TestQueries(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	for _, query := range []string{"limit=1&limit=1", "state=connected&state=connected", "prefix=a&prefix=b", "limit=0", "limit=1001", "limit=1.5",
		"limit=-1", "state=Connected", "cursor=AA", "cursor=%00", "label=a", "label==b", "limit=%zz"} {
		d.get("/edges?"+query).isProblem(400, "invalid_request")
	}
	for _, query := range []string{"limit=", "state=&limit=&cursor=&prefix=&label=", "nope=1&nope=2", "label=a=1&label=b=2", "limit=&limit=5", "timeout=x"} {
		d.get("/edges?" + query).is(200)
	}
	for _, query := range []string{"timeout=0s", "timeout=30.001s", "timeout=5", "max_age=-1s", "timeout=1s&timeout=1s"} {
		d.get("/fleet/status?"+query).isProblem(400, "invalid_request")
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	for _, id := range []string{"a", "A-z0.9_", strings.Repeat("x", 128)} {
		if got := d.get("/edges", "X-Request-Id", id).header.Get("X-Request-Id"); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	for _, id := range []string{"", "a b", "a:b", "ä", strings.Repeat("x", 129)} {
		if got := d.get("/nope", "X-Request-Id", id).isProblem(404, "not_found").header.Get("X-Request-Id"); got == id {
			t.Errorf("%q was kept", id)
		}
	}
	for name, head := range map[string]string{
		"no Host":      "GET /edges HTTP/1.1\r\n\r\n",
		"garbage":      "nonsense\r\n\r\n",
		"a long head":  "GET /edges HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n",
		"two lengths":  "POST /edges HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"unknown code": "POST /edges HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
		"OPTIONS *":    "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	} {
		said := d.raw(head)
		if !strings.Contains(said, "application/problem+json") || !strings.Contains(said, "X-Request-Id: ") {
			t.Errorf("%s: %.300s", name, said)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	deep := func(levels int) string {
		return `{"operation":"a","parameters":` + strings.Repeat(`{"k":`, levels-1) + "1" + strings.Repeat("}", levels-1) + `}`
	}
	for name, c := range map[string]struct{ body, names string }{
		"twice, nested":   {`{"operation":"a","parameters":{"x":{"y":1,"y":2}}}`, "parameters.x.y"},
		"twice, in lists": {`{"operation":"a","parameters":{"x":[0,{"y":1,"y":2}]}}`, "parameters.x[1].y"},
		"twice, escaped":  {`{"operation":"a","operat\u0069on":"a"}`, "operation"},
		"folded":          {`{"operation":"a","Timeout":"5s"}`, "Timeout"},
		"unknown":         {`{"operation":"a","edge":"e"}`, "edge"},
		"NaN":             {`{"operation":"a","parameters":{"x":NaN}}`, "parameters.x"},
		"beyond a double": {`{"operation":"a","parameters":{"x":1e999}}`, "parameters.x"},
		"null parameters": {`{"operation":"a","parameters":null}`, "parameters"},
		"wrong type":      {`{"operation":["a"]}`, "operation"},
		"trailing":        {`{"operation":"a"}x`, "body"},
		"trailing object": {`{"operation":"a"} {}`, "body"},
		"not an object":   {`[]`, "body"},
		"empty":           {" ", "body"},
		"65 levels":       {deep(65), "parameters"},
		"lone surrogate":  {`{"operation":"\ud800"}`, "body"},
		"not UTF-8":       {"{\"operation\":\"\xff\"}", "body"},
		"timeout 0":       {`{"operation":"a","timeout":"0s"}`, "timeout"},
		"timeout over":    {`{"operation":"a","timeout":"10m1s"}`, "timeout"},
		"timeout null":    {`{"operation":"a","timeout":null}`, "timeout"},
	} {
		a := d.post("e", c.body)
		a.what = name
		a.isProblem(400, "invalid_request")
		if detail := a.text("detail"); !strings.Contains(detail, c.names) || strings.Contains(detail, "invalid character") {
			t.Errorf("%s: detail %q", name, detail)
		}
	}
	waiting := d.postLater("e", deep(64))
	e.reply(e.command(), succeeded)
	(<-waiting).is(200)
	for _, kind := range []string{"application/json; charset=UTF-8", "Application/JSON"} {
		waiting := d.postLater("e", `{"operation":"a"}`, "Content-Type", kind)
		e.reply(e.command(), succeeded)
		(<-waiting).is(200)
	}
	for _, kind := range []string{"", "text/json", "application/json; charset=latin1", "application/problem+json"} {
		d.post("e", `{"operation":"a"}`, "Content-Type", kind).isProblem(415, "unsupported_media_type")
	}
	d.post("e", `{"operation":"a"}`, "Content-Encoding", "gzip").isProblem(415, "unsupported_media_type")
}

// TestGrownCommand: JSON that fits a body can be too long for a frame, and nothing of it is sent or kept.
func TestGrownCommand(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	d.post("e", `{"operation":"a","parameters":{"x":[0`+strings.Repeat(",0", 100_000)+`]}}`).isProblem(413, "payload_too_large")
	d.get("/edges/e/operations").is(200, "operations", []any{}, "dropped", 0)

	list := make([]any, 10_000)
	for i := range list {
		list[i] = 0.0
	}
	body, _ := json.Marshal(object{"operation": "a", "parameters": object{"x": list}})
	waiting := d.postLater("e", string(body))
	m := e.command()
	if n := len(m.GetEdgeCommandRequest().Parameters.Fields["x"].GetListValue().Values); n != len(list) {
		t.Errorf("%d of %d values arrived", n, len(list))
	}
	result := &structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(1), "s": structpb.NewStringValue("<&>\u2028")}}
	e.answer(m, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: &iopv1.EdgeCommandResponse{
		CommandId: m.GetEdgeCommandRequest().CommandId, Outcome: succeeded, Result: result}}})
	(<-waiting).is(200, "result.n", 1, "result.s", "<&>\u2028")
}

func TestPaths(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	d.connect(helloOf("a.b:c_d-e"))
	d.get("/edges/a.b%3Ac_d-e").is(200, "edge_id", "a.b:c_d-e")
	d.get("/edges/a.b:c_d-e/events").is(200)
	for _, path := range []string{"/edges/", "//edges", "/edges//", "/./edges", "/edges/./x", "/edges/x/../y", "/Edges", "/edges/x/commands/y", "/", "/edges/a%2Fb",
		"/edges/a%2F..%2Fb/status", "/edges/%2e%2e", "/edges/..%2f", "/edges/a%00b", "/edges/%20a", "/edges/" + strings.Repeat("a", 129)} {
		a := d.get(path)
		if a.status != http.StatusNotFound && a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, a.status)
		}
		a.isProblem(a.status, a.text("code"))
	}
	d.get("/edges/a.b:c_d-e/operations/none").isProblem(404, "operation_not_found")
	d.get("/edges/nobody/operations/none").isProblem(404, "edge_not_found")
}
