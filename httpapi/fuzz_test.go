package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzHandler sends any method, path, query and body through everything: never a panic, never a redirect, and whatever isn't
// a success is a whole problem.
func FuzzHandler(f *testing.F) {
	for _, path := range []string{"/edges", "//edges", "/edges/x/status", "/edges/a%2Fb/commands", "/edges/x/operations/%00", "/fleet/status", "/fleet/events", "/./edges", "/%2e%2e", "*", "/healthz", "/readyz/"} {
		f.Add("GET", path, "limit=5&label=a%3Db&cursor=ZWE&max_age=1s&timeout=2s&state=stale&after=x", "", "")
	}
	f.Add("POST", "/edges/x/commands", "wait=false", `{"operation":"x","parameters":{"a":[1,{"b":null}]},"timeout":"5s"}`, "key")
	f.Add("POST", "/edges/x/commands", "wait=", `{"operation":"x"} {}`, "")
	f.Add("OPTIONS", "/fleet/models", "%zz", "", "")
	plane := everything(site("x", time.Now()))
	plane.views = append(plane.views, goneEdge("y", site("y", time.Now())))
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
		e := do(s, method, path+"?"+query, body, headers...)
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
		}
	})
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
