package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iop/internal/testkit"

	"iop/wire/backoff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkit.Cleaning{M: m}) }

// soon is a time by which everything here has happened, also on a busy machine.
const soon = 30 * time.Second

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

// quick waits next to nothing between two tries.
func quick() *backoff.Backoff { return backoff.New(time.Millisecond, 2*time.Millisecond) }

// serve gives a Repository of a handler.
func serve(t testing.TB, h http.Handler, o Options) *Repository {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return repositoryOf(t, server.URL, o)
}

func repositoryOf(t testing.TB, address string, o Options) *Repository {
	t.Helper()
	r, err := New(address, o)
	if err != nil {
		t.Fatal(err)
	}
	r.streamBackoff, r.commandBackoff = quick, quick
	t.Cleanup(r.Close)
	return r
}

func answerJSON(w http.ResponseWriter, status int, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

const problemType = "application/problem+json"
