package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iop/internal/testkit"
)

// testBackend is a serving backend that looks like vLLM: requests are held until their callers go, so many at once run and
// the others wait, and /metrics has the real numbers.
type testBackend struct {
	server           *httptest.Server
	slots            chan struct{}
	running, waiting atomic.Int64

	mu      sync.Mutex
	callers []context.CancelFunc
	all     sync.WaitGroup
}

func startBackend(t *testing.T, slots int) *testBackend {
	b := &testBackend{slots: make(chan struct{}, slots)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[{"id":"m-large"}]}`)) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "vllm:num_requests_running{engine=\"0\"} %d.0\nvllm:num_requests_waiting{engine=\"0\"} %d.0\n", b.running.Load(), b.waiting.Load())
	})
	mux.HandleFunc("POST /v1/completions", b.hold)
	b.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.want(t, 0)
		b.server.Close()
	})
	return b
}

func (b *testBackend) hold(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the caller's going is seen
	b.waiting.Add(1)
	select {
	case b.slots <- struct{}{}:
	case <-r.Context().Done():
		b.waiting.Add(-1)
		return
	}
	b.running.Add(1) // before it stops waiting: a moment with one too many is the price of never one too few
	b.waiting.Add(-1)
	<-r.Context().Done()
	b.running.Add(-1)
	<-b.slots
}

// want makes so many requests be in flight, and waits until the backend has them.
func (b *testBackend) want(t *testing.T, requests int) {
	t.Helper()
	b.mu.Lock()
	for len(b.callers) > requests {
		b.callers[0]()
		b.callers = b.callers[1:]
	}
	for len(b.callers) < requests {
		ctx, cancel := context.WithCancel(context.Background())
		b.callers = append(b.callers, cancel)
		b.all.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL+"/v1/completions", strings.NewReader(`{"prompt":"x"}`))
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	b.mu.Unlock()
	running := int64(min(requests, cap(b.slots)))
	testkit.Eventually(t, "the backend has the requests", func() bool {
		return b.running.Load() == running && b.waiting.Load() == int64(requests)-running
	})
	if requests == 0 {
		b.all.Wait()
	}
}

// patience is how long a busy machine may take for what takes milliseconds.
const patience = 20 * time.Second
