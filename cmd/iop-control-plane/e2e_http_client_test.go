package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// object is a JSON object as a test reads it.
type object = map[string]any

// answer is one HTTP answer, and its JSON where it has some.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   []byte
	json   object
}

var httpClient = &http.Client{
	Timeout:       2 * patience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do makes a request; headers come in pairs, Host among them.
func (d *testDaemon) do(method, path, body string, headers ...string) answer {
	d.t.Helper()
	a, err := d.try(method, path, body, headers...)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (d *testDaemon) try(method, path, body string, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, d.scheme+"://"+d.http+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := d.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{t: d.t, what: method + " " + path, status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return answer{}, err
	}
	_ = json.Unmarshal(a.body, &a.json)
	return a, nil
}

func (d *testDaemon) get(path string, headers ...string) answer {
	d.t.Helper()
	return d.do(http.MethodGet, path, "", headers...)
}

// post sends a command.
func (d *testDaemon) post(edgeID, body string, headers ...string) answer {
	d.t.Helper()
	return d.do(http.MethodPost, "/edges/"+edgeID+"/commands", body, headers...)
}

// postLater sends a command whose answer is looked at later.
func (d *testDaemon) postLater(edgeID, body string, headers ...string) <-chan answer {
	d.t.Helper()
	return d.later(http.MethodPost, "/edges/"+edgeID+"/commands", body, headers...)
}

func (d *testDaemon) later(method, path, body string, headers ...string) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		a, err := d.try(method, path, body, headers...)
		if err != nil {
			a = answer{t: d.t, what: fmt.Sprintf("%s %s: %v", method, path, err)}
		}
		answers <- a
	}()
	return answers
}

// is wants this status, and these members: a path such as nodes.0.node_id, and what is there.
func (a answer) is(status int, members ...any) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d: %.400s", a.what, a.status, status, a.body)
	}
	for i := 0; i+1 < len(members); i += 2 {
		path, want := members[i].(string), fmt.Sprint(members[i+1])
		if got := fmt.Sprint(at(a.json, path)); got != want {
			a.t.Fatalf("%s: %s is %s, want %s: %.1000s", a.what, path, got, want, a.body)
		}
	}
	return a
}

// isProblem wants a whole RFC 9457 problem.
func (a answer) isProblem(status int, code string, members ...any) answer {
	a.t.Helper()
	a.is(status, append([]any{"code", code, "status", status, "type", "about:blank", "title", http.StatusText(status),
		"request_id", a.header.Get("X-Request-Id")}, members...)...)
	if kind := a.header.Get("Content-Type"); kind != "application/problem+json" {
		a.t.Fatalf("%s: Content-Type %q", a.what, kind)
	}
	if detail, _ := a.json["detail"].(string); detail == "" || a.header.Get("X-Request-Id") == "" {
		a.t.Fatalf("%s: no detail or no X-Request-Id: %s", a.what, a.body)
	}
	return a
}

func (a answer) text(path string) string {
	s, _ := at(a.json, path).(string)
	return s
}

func (a answer) number(path string) float64 {
	f, ok := at(a.json, path).(float64)
	if !ok {
		return -1
	}
	return f
}

func (a answer) list(path string) []any {
	l, _ := at(a.json, path).([]any)
	return l
}

// at walks a path; nil where it leads nowhere.
func at(v any, path string) any {
	for _, step := range strings.Split(path, ".") {
		switch in := v.(type) {
		case object:
			v = in[step]
		case []any:
			i := -1
			if _, err := fmt.Sscan(step, &i); err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// metric reads a sample of /metrics that must be there.
func (d *testDaemon) metric(name string) float64 {
	d.t.Helper()
	value, there := d.sample(name)
	if !there {
		d.t.Fatalf("/metrics has no %s", name)
	}
	return value
}

// sample reads one of /metrics; false where there is none.
func (d *testDaemon) sample(name string) (float64, bool) {
	d.t.Helper()
	for line := range bytes.Lines(d.get("/metrics").body) {
		var value float64
		if rest, ok := strings.CutPrefix(string(line), name+" "); ok {
			if _, err := fmt.Sscan(rest, &value); err == nil {
				return value, true
			}
		}
	}
	return 0, false
}

// raw sends bytes to the HTTP listener and gives all that comes back until the connection ends.
func (d *testDaemon) raw(request string) string {
	d.t.Helper()
	c, err := net.Dial("tcp", d.http)
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, request); err != nil {
		d.t.Fatal(err)
	}
	said, _ := io.ReadAll(c)
	return string(said)
}
