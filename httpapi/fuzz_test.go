package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"iop/actors"
)

// FuzzHandler sends any method, path, query and body through everything: never a panic, never a redirect, whatever isn't a success is
// a whole problem, a success is JSON, and a command that reaches the Plane is the one that was said.
func FuzzHandler(f *testing.F) {
	for _, path := range []string{"/edges", "//edges", "/edges/x/status", "/edges/a%2Fb/commands", "/edges/x/operations/%00", "/fleet/status", "/fleet/events", "/./edges", "/%2e%2e", "*", "/healthz", "/readyz/"} {
		f.Add("GET", path, "limit=5&label=a%3Db&cursor=ZWE&max_age=1s&timeout=2s&state=stale&after=x", "", "")
	}
	f.Add("POST", "/edges/x/commands", "wait=false", `{"operation":"x","parameters":{"a":[1,{"b":null}]},"timeout":"5s"}`, "key")
	f.Add("POST", "/edges/x/commands", "", `{"operation":"x\u00e9\ud83d\ude00","node_id":"<n>","reason":"\u2028","parameters":{"":-0,"b":[{},[],1e300,"\u0000"],"c":{"d":true}}}`, "")
	f.Add("POST", "/edges/x/commands", "wait=", `{"operation":"x"} {}`, "")
	f.Add("OPTIONS", "/fleet/models", "%zz", "", "")
	plane := everything(site("x", time.Now()))
	plane.views = append(plane.views, goneEdge("y", site("y", time.Now())))
	var asked *actors.CommandAsk
	plane.command = func(_ context.Context, ask *actors.CommandAsk) actors.CommandReply {
		asked = ask
		return actors.CommandReply{Operation: &actors.Operation{ID: "op", EdgeID: ask.EdgeID, Operation: ask.Operation, NodeID: ask.NodeID, Parameters: ask.Shown,
			Reason: ask.Reason, State: actors.Succeeded, CreatedAt: time.Now()}}
	}
	s := newServer(plane)
	f.Fuzz(func(t *testing.T, method, path, query, body, key string) {
		if !strings.HasPrefix(path, "/") || !validMethod(method) {
			path = "/" + path
			method = http.MethodPost
		}
		headers := []string{}
		if key != "" {
			headers = append(headers, "Idempotency-Key", key)
		}
		asked = nil
		e := do(s, method, path+"?"+query, body, headers...)
		if asked != nil {
			wantSaid(t, body, asked, e)
		}
		switch {
		case e.Code == http.StatusInternalServerError || e.Code >= 300 && e.Code < 400:
			t.Fatalf("%s %s?%s: %d %s", method, path, query, e.Code, e.Body)
		case e.Code >= 400:
			var p struct {
				Type, Title, Detail, Code string
				Status                    int
				RequestID                 string `json:"request_id"`
			}
			if err := json.Unmarshal(e.Body.Bytes(), &p); err != nil || p.Type != "about:blank" || p.Title == "" || p.Detail == "" || p.Status != e.Code ||
				p.RequestID == "" || e.Header().Get("Content-Type") != problemType {
				t.Fatalf("%s %s?%s: %d %s", method, path, query, e.Code, e.Body)
			}
		case path != "/metrics" && path != "/openapi.yaml" && (e.Header().Get("Content-Type") != jsonType || !json.Valid(e.Body.Bytes())):
			t.Fatalf("%s %s?%s: %d %s %s", method, path, query, e.Code, e.Header().Get("Content-Type"), e.Body)
		}
	})
}

// wantSaid compares a body as encoding/json reads it with what the Plane was asked for, what travels, and what is shown.
func wantSaid(t *testing.T, body string, ask *actors.CommandAsk, e exchange) {
	t.Helper()
	var said, shown struct {
		Operation  string         `json:"operation"`
		NodeID     string         `json:"node_id"`
		Reason     string         `json:"reason"`
		Parameters map[string]any `json:"parameters"`
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		t.Fatalf("%q was taken: %v", body, err)
	}
	travels, asks := &structpb.Struct{}, said
	b, err := proto.Marshal(ask.Parameters)
	if err == nil {
		err = proto.Unmarshal(b, travels)
	}
	asks.Operation, asks.NodeID, asks.Reason = ask.Operation, ask.NodeID, ask.Reason
	if asks.Parameters = nil; ask.Parameters != nil {
		asks.Parameters = travels.AsMap()
	}
	if err != nil || !reflect.DeepEqual(asks, said) {
		t.Fatalf("%q is asked for as %+v: %v", body, asks, err)
	}
	if err := json.Unmarshal(e.Body.Bytes(), &shown); err != nil || !reflect.DeepEqual(shown, said) {
		t.Fatalf("%q is shown as %s: %v", body, e.Body, err)
	}
}

// validMethod tells whether net/http would let a request of this method through.
func validMethod(m string) bool {
	for _, r := range m {
		if r < '!' || r > '~' || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) {
			return false
		}
	}
	return m != ""
}
