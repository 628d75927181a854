package httpapi

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"iop/actors"
	"iop/wire"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDocumentIsOpenAPI31(t *testing.T) {
	doc := document(t)
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("version %s", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	e := do(newServer(&fakePlane{}), http.MethodGet, "/openapi.yaml", "")
	if e.Code != http.StatusOK || e.Body.String() != string(openapiYAML) {
		t.Errorf("served %d, %d bytes", e.Code, e.Body.Len())
	}
}

// Every route is in the document with its method and who may call it, and the document has nothing else.
func TestDocumentHasTheRoutes(t *testing.T) {
	doc := document(t)
	var served, documented []string
	for _, rt := range newServer(&fakePlane{}).routes() {
		served = append(served, rt.method+" "+rt.pattern)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			documented = append(documented, method+" "+path)
			open := op.Security != nil && len(*op.Security) == 1 && len((*op.Security)[0]) == 0
			if open != (path == healthPath || path == readyPath) {
				t.Errorf("%s: open to everybody: %v", path, open)
			}
		}
	}
	slices.Sort(served)
	slices.Sort(documented)
	if !slices.Equal(served, documented) {
		t.Errorf("served %v, documented %v", served, documented)
	}
}

func TestDocumentHasTheCodes(t *testing.T) {
	schemas := document(t).Components.Schemas
	var documented, answered []string
	for _, v := range schemas["Problem"].Value.Properties["code"].Value.Enum {
		documented = append(documented, v.(string))
	}
	for _, name := range []string{"EdgeErrorProblem", "EdgeDisconnectedProblem"} {
		documented = append(documented, schemas[name].Value.Properties["code"].Value.Const.(string))
	}
	for code := range statuses {
		answered = append(answered, string(code))
	}
	slices.Sort(documented)
	slices.Sort(answered)
	if !slices.Equal(documented, answered) {
		t.Errorf("documented %v, answered %v", documented, answered)
	}
}

// closed makes every object of the document refuse members that it doesn't name, so that an undocumented one is found. The
// document itself leaves them open: a later version may add some.
func closed(doc *openapi3.T) *openapi3.T {
	no := false
	var visit func(ref *openapi3.SchemaRef)
	visit = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil {
			return
		}
		s := ref.Value
		if len(s.Properties) > 0 {
			s.AdditionalProperties = openapi3.BoolSchema{Has: &no}
		}
		visit(s.Items)
		for _, p := range s.Properties {
			if p.Ref == "" {
				visit(p)
			}
		}
	}
	for _, s := range doc.Components.Schemas {
		visit(s)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, res := range op.Responses.Map() {
				for _, media := range res.Value.Content {
					if media.Schema != nil && media.Schema.Ref == "" {
						visit(media.Schema)
					}
				}
			}
		}
	}
	return doc
}

// sample is one request, against a Server and plane of its own, and the status that it gets.
type sample struct {
	pattern string
	target  string // the pattern filled in, unless given
	query   string
	body    string
	headers []string
	plane   func(*fakePlane)
	change  func(*Options)
	drain   bool
	status  int
}

// samples has one for every answer that the document names, and more where they differ.
func samples(s *Server) []sample {
	var all []sample
	fault := &wire.Fault{Code: wire.Internal, Message: "no"}
	for _, rt := range s.routes() {
		ok := sample{pattern: rt.pattern, status: http.StatusOK}
		if rt.method == http.MethodPost {
			ok.body = `{"operation":"x"}`
		}
		with := func(status int, change func(*sample)) {
			one := ok
			one.status = status
			change(&one)
			all = append(all, one)
		}
		all = append(all, ok)
		if rt.pattern == healthPath || rt.pattern == readyPath {
			with(405, func(x *sample) { x.body = "{}" }) // a body makes it a POST
			continue
		}
		with(401, func(x *sample) { x.change = withOperators })
		with(403, func(x *sample) { x.headers = []string{"Host", "evil.example"} })
		with(503, func(x *sample) { x.drain = true })
		if strings.Contains(rt.pattern, "{id}") {
			with(400, func(x *sample) {
				x.target = strings.NewReplacer("{id}", ".x", "{operation_id}", "op").Replace(rt.pattern)
			})
			with(404, func(x *sample) {
				x.plane = func(p *fakePlane) {
					p.views = nil
					p.status = func(string, time.Duration) actors.StatusReply {
						return actors.StatusReply{Fault: &wire.Fault{Code: wire.EdgeNotFound, Message: "no"}}
					}
				}
			})
		} else if !slices.Contains([]string{"/version", "/metrics", "/openapi.yaml"}, rt.pattern) {
			with(400, func(x *sample) { x.query = "limit=0&timeout=0&label=x" })
		}
		if !slices.Contains([]string{"/version", "/metrics", "/openapi.yaml"}, rt.pattern) {
			with(500, func(x *sample) {
				x.plane = func(p *fakePlane) {
					p.fleetFault = fault
					p.status = func(string, time.Duration) actors.StatusReply { return actors.StatusReply{Fault: fault} }
					p.operations, p.events, p.subscribe = nil, nil, nil // a panic
				}
			})
		}
	}
	all = append(all, edgeSamples()...)
	return append(all, viewSamples()...)
}

// edgeSamples are the ways in which an Edge fails.
func edgeSamples() []sample {
	var all []sample
	op := &actors.Operation{ID: "op", EdgeID: "x", Operation: "x", State: actors.Unknown, CreatedAt: time.Now()}
	for _, code := range []wire.Code{wire.EdgeBusy, wire.EdgeError, wire.EdgeDisconnected, wire.EdgeTimeout, wire.IdempotencyConflict} {
		f := &wire.Fault{Code: code, Message: "no"}
		for _, edgeError := range []string{"", "INTERNAL"} {
			all = append(all,
				sample{pattern: "/edges/{id}/commands", body: `{"operation":"x"}`, status: statuses[code], plane: func(p *fakePlane) {
					p.command = func(context.Context, *actors.CommandAsk) actors.CommandReply {
						return actors.CommandReply{Fault: f, Operation: op, EdgeError: edgeError}
					}
				}})
			if code != wire.IdempotencyConflict {
				all = append(all, sample{pattern: "/edges/{id}/status", status: statuses[code], plane: func(p *fakePlane) {
					p.views = []*actors.View{goneEdge("x", nil)}
					p.status = func(string, time.Duration) actors.StatusReply {
						return actors.StatusReply{Fault: f, EdgeError: edgeError}
					}
				}})
			}
		}
	}
	command := sample{pattern: "/edges/{id}/commands", body: `{"operation":"x"}`}
	with := func(status int, change func(*sample)) {
		one := command
		one.status = status
		change(&one)
		all = append(all, one)
	}
	with(202, func(x *sample) {
		x.plane = func(p *fakePlane) {
			p.command = func(context.Context, *actors.CommandAsk) actors.CommandReply {
				return actors.CommandReply{Operation: op}
			}
		}
	})
	with(413, func(x *sample) { x.body = `{"operation":"` + strings.Repeat("x", maxBodyBytes) + `"}` })
	with(415, func(x *sample) { x.headers = []string{"Content-Type", "text/plain"} })
	with(422, func(x *sample) {
		x.plane = func(p *fakePlane) { p.views[0].Operations = actors.NewOperationNames([]string{"y"}) }
	})
	with(500, func(x *sample) { x.plane = func(p *fakePlane) { p.command = nil } })
	return all
}

// viewSamples are answers with everything in them that can be.
func viewSamples() []sample {
	now, n := time.Now(), uint64(3)
	rich := connectedEdge("x", site("x", now))
	rich.Labels, rich.Operations, rich.ConflictUntil = actors.NewLabels(map[string]string{"a": "b"}), actors.NewOperationNames([]string{"x"}), now.Add(time.Minute)
	richPlane := func(p *fakePlane) {
		p.views = []*actors.View{goneEdge("w", site("w", now)), rich, staleEdge("y", nil)}
		p.status = func(string, time.Duration) actors.StatusReply { return answered(site("x", now)) }
		p.events = func(actors.EventQuery) actors.EventPage {
			return actors.EventPage{Events: []*actors.Event{{Run: "r", Seq: 1, EdgeID: "x", NodeID: "n", OperationID: "o", Kind: actors.NodeReady, Message: "m", At: now, OccurredAt: now},
				{Run: "r", Seq: 2, Kind: actors.EdgeConnected, At: now}}, Gap: &actors.Gap{Dropped: &n, Reason: actors.Overwritten}, Next: "r.2"}
		}
		o := &actors.Operation{ID: "op", EdgeID: "x", Operation: "o", NodeID: "n", Parameters: []byte(`{"a":[1]}`), Reason: "r", RequestedBy: "otto", RequestID: "r", State: actors.Failed,
			CreatedAt: now, SentAt: now, RespondedAt: now, FinishedAt: now, Message: "m", Result: []byte(`{"b":null}`), EventsDropped: 1,
			Events: []actors.OperationEvent{{Phase: "accepted", ReceivedAt: now}, {Phase: "progress", Message: "m", ProgressPercent: 7, OccurredAt: now, ReceivedAt: now}}}
		p.operation = func(string, string) (*actors.Operation, *wire.Fault) { return o, nil }
		p.operations = func(actors.OperationQuery) actors.OperationPage {
			return actors.OperationPage{Operations: []*actors.Operation{o}, Dropped: 2, More: true}
		}
	}
	var all []sample
	for _, target := range []string{"/edges/x/status?max_age=1m&timeout=1s", "/edges?limit=1&state=disconnected&label=a%3Db&label=", "/edges?limit=1&prefix=", "/edges/{id}", "/edges/{id}/status",
		"/edges/{id}/events?after=r.0&limit=5", "/edges/{id}/operations?state=failed", "/edges/{id}/operations/{operation_id}", "/fleet/status?limit=1", "/fleet/status",
		"/fleet/summary", "/fleet/models", "/fleet/events", "/fleet/operations?limit=1000"} {
		path, query, _ := strings.Cut(target, "?")
		all = append(all, sample{pattern: strings.Replace(path, "/x/", "/{id}/", 1), query: query, plane: richPlane, status: 200})
	}
	all = append(all, sample{pattern: "/fleet/events", headers: []string{"Accept", streamType}, status: 200},
		sample{pattern: readyPath, drain: true, status: 503})
	return all
}

func (x sample) run() exchange {
	plane := everything(site("x", time.Now()))
	if x.plane != nil {
		x.plane(plane)
	}
	var change []func(*Options)
	if x.change != nil {
		change = append(change, x.change)
	}
	s := newServer(plane, change...)
	if x.drain {
		s.Drain()
	}
	target, method := x.target, http.MethodGet
	if target == "" {
		target = strings.NewReplacer("{id}", "x", "{operation_id}", "op").Replace(x.pattern)
	}
	if x.query != "" {
		target += "?" + x.query
	}
	if x.body != "" {
		method = http.MethodPost
	}
	return do(s, method, target, x.body, x.headers...)
}

// Every answer is one that the document promises, member for member, and every answer that it promises is among the samples.
func TestAnswersKeepToTheDocument(t *testing.T) {
	doc := closed(document(t))
	openapi3filter.RegisterBodyDecoder(streamType, openapi3filter.PlainBodyDecoder)
	missing := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				missing[method+" "+path+" "+status] = true
			}
		}
	}
	for _, x := range samples(newServer(&fakePlane{})) {
		e := x.run()
		if e.Code != x.status {
			t.Errorf("%s %s: status %d, want %d: %.200s", e.method, e.target, e.Code, x.status, e.Body)
		}
		item := doc.Paths.Find(x.pattern)
		method := http.MethodGet
		if item.Get == nil {
			method = http.MethodPost
		}
		delete(missing, fmt.Sprintf("%s %s %d", method, x.pattern, e.Code))
		delete(missing, fmt.Sprintf("%s %s %dXX", method, x.pattern, e.Code/100))
		err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{
				Request: &http.Request{Method: method},
				Route:   &routers.Route{Spec: doc, Path: x.pattern, PathItem: item, Method: method, Operation: item.GetOperation(method)},
			},
			Status: e.Code, Header: e.Result().Header, Body: io.NopCloser(e.Body),
			Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
		})
		if err != nil {
			t.Errorf("%s %s %d: %v", e.method, e.target, e.Code, err)
		}
	}
	if len(missing) > 0 {
		t.Errorf("promised and never seen: %v", slices.Sorted(maps.Keys(missing)))
	}
}

// The check above must be able to fail.
func TestTheDocumentIsStrictEnough(t *testing.T) {
	doc := closed(document(t))
	item := doc.Paths.Find("/edges/{id}")
	good := do(newServer(everything(nil)), http.MethodGet, "/edges/x", "")
	for name, change := range map[string]func(body string) string{
		"a member more":   func(b string) string { return strings.Replace(b, "{", `{"more":1,`, 1) },
		"a member less":   func(b string) string { return strings.Replace(b, `"takeovers"`, `"takeover"`, 1) },
		"another type":    func(b string) string { return strings.Replace(b, `"connections":1`, `"connections":"1"`, 1) },
		"an unknown word": func(b string) string { return strings.Replace(b, `"state":"connected"`, `"state":"online"`, 1) },
		"null":            func(b string) string { return strings.Replace(b, `"labels":{}`, `"labels":null`, 1) },
	} {
		body := change(good.Body.String())
		if body == good.Body.String() {
			t.Fatalf("%s: nothing changed", name)
		}
		err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: &http.Request{Method: http.MethodGet},
				Route: &routers.Route{Spec: doc, PathItem: item, Method: http.MethodGet, Operation: item.Get}},
			Status: 200, Header: good.Result().Header, Body: io.NopCloser(strings.NewReader(body)),
		})
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// Requests that the handlers take are ones that the document allows.
func TestRequestsKeepToTheDocument(t *testing.T) {
	doc := document(t)
	item := doc.Paths.Find("/edges/{id}/commands")
	for body, allowed := range map[string]bool{
		`{"operation":"x","node_id":"n","parameters":{"a":[1,{}]},"timeout":"1m30s","reason":"r"}`: true,
		`{"operation":"x","more":1}`:       false,
		`{"operation":""}`:                 false,
		`{"operation":"x","timeout":5}`:    false,
		`{"operation":"x","timeout":""}`:   false,
		`{"operation":"x","parameters":1}`: false,
		`{}`:                               false,
	} {
		r, _ := http.NewRequest(http.MethodPost, "http://localhost/edges/x/commands", strings.NewReader(body))
		r.Header.Set("Content-Type", jsonType)
		err := openapi3filter.ValidateRequest(context.Background(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: map[string]string{"id": "x"},
			Route:   &routers.Route{Spec: doc, PathItem: item, Method: http.MethodPost, Operation: item.Post},
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		})
		e := do(newServer(everything(nil)), http.MethodPost, "/edges/x/commands", body)
		if (err == nil) != allowed || (e.Code == http.StatusOK) != allowed {
			t.Errorf("%s: document %v, handler %d", body, err, e.Code)
		}
	}
}
