package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iop/wire/backoff"
)

// scratch has what the tests build.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "iop-client-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(scratch)
		os.Exit(code)
	}))
}

// daemonProgram builds the real daemon, once, when a test wants it: the processes of a fuzzing run don't.
var daemonProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "iop-control-plane")
	if out, err := exec.Command("go", "build", "-o", program, "iop/cmd/iop-control-plane").CombinedOutput(); err != nil {
		return "", fmt.Errorf("the daemon can't be built: %w\n%s", err, out)
	}
	return program, nil
})

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
	r.returns, r.retries = quick, quick
	t.Cleanup(r.Close)
	return r
}

func answerJSON(w http.ResponseWriter, status int, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

const problemType = "application/problem+json"

func ptr[T any](v T) *T { return &v }
