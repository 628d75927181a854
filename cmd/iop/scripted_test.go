package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"iop/client"
)

// scripted is a Control Plane that answers as a test says: each request to a path gets the path's next answer, and the last one for
// ever. An answer is a JSON document; an empty one is a refusal, and a number the status of a proxy's page.
type scripted struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string // path and query
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSuffix(r.URL.Path+"?"+r.URL.RawQuery, "?"))
	answers := s.answers[r.URL.Path]
	kind, status, body := "application/problem+json", http.StatusNotFound, `{"code":"edge_not_found","detail":"no Edge with this id is known"}`
	if len(answers) > 0 && answers[0] != "" {
		kind, status, body = "application/json", http.StatusOK, answers[0]
		if page, err := strconv.Atoi(body); err == nil {
			kind, status, body = "text/html", page, "<html>"
		}
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
	if len(answers) > 1 {
		s.answers[r.URL.Path] = answers[1:]
	}
}

func (s *scripted) start(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func (s *scripted) repository(t *testing.T) *client.Repository {
	t.Helper()
	repo, err := client.New(s.start(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// iop runs the program at it.
func (s *scripted) iop(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	env := map[string]string{"IOP_ADDR": s.start(t)}
	exit = run(args, surroundings{stdin: strings.NewReader(""), stdout: &out, stderr: &talk,
		env:       func(name string) string { return env[name] },
		configDir: func() (string, error) { return "", errors.New("a test has none") }})
	return exit, out.String(), talk.String()
}
