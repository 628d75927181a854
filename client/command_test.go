package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// commandServer is a Control Plane that has each POST end as a test says.
type commandServer struct {
	t     *testing.T
	tries []string // what becomes of each POST: ok, cut, 502, problem, silent
	gap   string   // the gap of a look whether it was restarted
	next  string   // the newest event's id, as JSON

	silenced func() // a silent POST was read

	mu           sync.Mutex
	keys, bodies []string
}

func (s *commandServer) got() (keys, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys), slices.Clone(s.bodies)
}

func (s *commandServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		gap := "null"
		if r.URL.Query().Get("after") != "" {
			gap = s.gap
		}
		answerJSON(w, 200, "application/json", `{"events":[],"gap":`+gap+`,"next":`+s.next+`}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.keys, s.bodies = append(s.keys, r.Header.Get("Idempotency-Key")), append(s.bodies, string(body))
	what := s.tries[min(len(s.keys), len(s.tries))-1]
	s.mu.Unlock()
	switch what {
	case "ok":
		answerJSON(w, 200, "application/json", `{"operation_id":"op1","state":"succeeded"}`)
	case "cut":
		panic(http.ErrAbortHandler)
	case "502":
		answerJSON(w, 502, "text/html", "<html>")
	case "problem":
		answerJSON(w, 504, problemType, `{"code":"edge_timeout","detail":"late","operation":{"operation_id":"op1","state":"unknown"}}`)
	case "silent":
		s.silenced()
		<-r.Context().Done()
	}
}

const sameRun, otherRun = "null", `{"dropped":null,"reason":"restarted"}`

func TestACommandIsSentAgainUnderItsKey(t *testing.T) {
	for name, c := range map[string]struct {
		tries []string
		gap   string
		next  string
		posts int
		check func(o *Operation, err error) bool
	}{
		"at once":                {[]string{"ok"}, sameRun, `"e1"`, 1, func(o *Operation, err error) bool { return o.OperationID == "op1" && err == nil }},
		"after two cuts":         {[]string{"cut", "cut", "ok"}, sameRun, `"e1"`, 3, func(o *Operation, err error) bool { return err == nil }},
		"after a proxy's no":     {[]string{"502", "ok"}, sameRun, `"e1"`, 2, func(o *Operation, err error) bool { return err == nil }},
		"never":                  {[]string{"cut"}, sameRun, `"e1"`, commandTries, isUncertain(false)},
		"not to a new process":   {[]string{"cut", "ok"}, otherRun, `"e1"`, 1, isUncertain(true)},
		"not where nobody knows": {[]string{"cut", "ok"}, sameRun, `null`, 1, isUncertain(true)},
		"not after an answer": {[]string{"problem"}, sameRun, `"e1"`, 1, func(_ *Operation, err error) bool {
			p := (*Problem)(nil)
			return errors.As(err, &p) && p.Code == EdgeTimeout && p.Operation.State == Unknown
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &commandServer{t: t, tries: c.tries, gap: c.gap, next: c.next}
			o, err := serve(t, s, Options{}).Command(within(t), Command{EdgeID: "seoul-1", Operation: "x"})
			keys, bodies := s.got()
			if !c.check(o, err) || len(keys) != c.posts {
				t.Errorf("%d posts, %v, %v", len(keys), o, err)
			}
			for i := range keys {
				if keys[i] == "" || keys[i] != keys[0] || bodies[i] != bodies[0] {
					t.Errorf("try %d has key %q and body %s, the first one %q and %s", i, keys[i], bodies[i], keys[0], bodies[0])
				}
			}
			if u := (*Uncertain)(nil); errors.As(err, &u) && u.Key != keys[0] {
				t.Errorf("it tells the key %q, and sent %q", u.Key, keys[0])
			}
		})
	}
}

func isUncertain(restarted bool) func(*Operation, error) bool {
	return func(_ *Operation, err error) bool {
		u := (*Uncertain)(nil)
		return errors.As(err, &u) && u.Restarted == restarted
	}
}

func TestACommandThatWasNeverSent(t *testing.T) {
	r := repositoryOf(t, "http://127.0.0.1:1", Options{})
	_, err := r.Command(within(t), Command{EdgeID: "seoul-1", Operation: "x"})
	if lost := (*Unreachable)(nil); !errors.As(err, &lost) || errors.As(err, new(*Uncertain)) {
		t.Errorf("got %v", err)
	}
}

func TestACommandWhoseCallerGivesUp(t *testing.T) {
	s := &commandServer{t: t, tries: []string{"silent"}, gap: sameRun, next: `"e1"`}
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	s.silenced = cancel
	_, err := serve(t, s, Options{}).Command(ctx, Command{EdgeID: "seoul-1", Operation: "x", Key: "mine"})
	if u := (*Uncertain)(nil); !errors.As(err, &u) || u.Key != "mine" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestACommandsBody(t *testing.T) {
	s := &commandServer{t: t, tries: []string{"ok"}, gap: sameRun, next: `"e1"`}
	c := Command{EdgeID: "seoul-1", Operation: "model.load", NodeID: "gpu-1", Parameters: map[string]any{"n": 1.5, "s": "<x>"},
		Timeout: 90 * time.Second, Reason: "why", Key: "k-1"}
	if _, err := serve(t, s, Options{}).Command(within(t), c); err != nil {
		t.Fatal(err)
	}
	keys, bodies := s.got()
	var got map[string]any
	if err := json.Unmarshal([]byte(bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got["operation"] != "model.load" || got["node_id"] != "gpu-1" || got["timeout"] != "1m30s" || got["reason"] != "why" ||
		got["parameters"].(map[string]any)["n"] != 1.5 || len(got) != 5 || keys[0] != "k-1" {
		t.Errorf("key %s, body %s", keys[0], bodies[0])
	}
	if _, err := serve(t, s, Options{}).Command(within(t), Command{EdgeID: "seoul-1", Operation: "x", Parameters: map[string]any{"f": func() {}}}); err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Errorf("parameters that are no JSON: %v", err)
	}
}

func TestWatch(t *testing.T) {
	states := []string{`"state":"accepted","events":[{"phase":"accepted"}]`, `"state":"accepted","events":[{"phase":"accepted"}]`,
		`"state":"running","events":[{"phase":"accepted"},{"phase":"started"}]`, `"state":"running","events":[{"phase":"started"}],"events_dropped":2`,
		`"state":"succeeded","events":[{"phase":"started"}],"events_dropped":2`}
	looks := 0
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answerJSON(w, 200, "application/json", `{"operation_id":"op1",`+states[looks]+`}`)
		looks++
	}), Options{})
	var told []OperationState
	for o, err := range r.Watch(within(t), WatchQuery{EdgeID: "seoul-1", OperationID: "op1"}) {
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, o.State)
	}
	if len(told) != 4 || told[3] != Succeeded || looks != 5 {
		t.Errorf("%d looks, told %v", looks, told)
	}
}

// A watch outlasts a Control Plane that gives no answer for a while, and ends where that won't change.
func TestAWatchGoesOn(t *testing.T) {
	const running, succeeded = `{"operation_id":"op1","state":"running"}`, `{"operation_id":"op1","state":"succeeded"}`
	for name, c := range map[string]struct {
		answers []string // a document, or how a look ends
		told    string
		ends    error
	}{
		"at once":               {[]string{succeeded}, "succeeded", nil},
		"over an outage":        {[]string{running, "cut", "502", "503", "cut", succeeded}, "running lost lost lost lost back succeeded", nil},
		"from the first look":   {[]string{"cut", succeeded}, "lost back succeeded", nil},
		"over a stop":           {[]string{running, "503 shutting_down", running, succeeded}, "running lost back succeeded", nil},
		"over a hurry":          {[]string{running, "429 edge_busy", succeeded}, "running lost back succeeded", nil},
		"until it is forgotten": {[]string{running, "cut", "404 operation_not_found"}, "running lost", OperationNotFound},
		"until it may not look": {[]string{running, "401 unauthenticated"}, "running", Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			var looks atomic.Int32
			r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close") // net/http itself asks again where a kept connection is cut
				answer, code, _ := strings.Cut(c.answers[looks.Add(1)-1], " ")
				status, err := strconv.Atoi(answer)
				switch {
				case answer == "cut":
					panic(http.ErrAbortHandler)
				case code != "":
					answerJSON(w, status, problemType, `{"code":"`+code+`"}`)
				case err == nil:
					answerJSON(w, status, "text/html", "<html>")
				default:
					answerJSON(w, 200, "application/json", answer)
				}
			}), Options{})
			var told []string
			q := WatchQuery{EdgeID: "seoul-1", OperationID: "op1", Changed: func(err error, _ time.Duration) {
				if err != nil {
					told = append(told, "lost")
				} else {
					told = append(told, "back")
				}
			}}
			var last error
			for o, err := range r.Watch(within(t), q) {
				if last = err; err == nil {
					told = append(told, string(o.State))
				}
			}
			if got := strings.Join(told, " "); got != c.told || !errors.Is(last, c.ends) || int(looks.Load()) != len(c.answers) {
				t.Errorf("%d looks, told %q, want %q; it ends with %v", looks.Load(), got, c.told, last)
			}
		})
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	r := repositoryOf(t, "http://127.0.0.1:1", Options{})
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	for _, err := range r.Watch(ctx, WatchQuery{EdgeID: "seoul-1", OperationID: "op1", Changed: func(error, time.Duration) { cancel() }}) {
		if err != context.Canceled { //nolint:errorlint // exactly the caller's
			t.Errorf("it ends with %v", err)
		}
	}
}
