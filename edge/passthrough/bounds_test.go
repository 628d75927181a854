package passthrough

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iop/edge/lease"
	"iop/internal/testkit"
)

func TestBodiesAreBoundedTogether(t *testing.T) {
	s := newSite(t, Options{}, stuck)
	if !s.handler.held.TryAcquire(heldBytes - leastHeld + 1) {
		t.Fatal("no room")
	}
	if status, code := s.says(s.post("/v1/completions", ask)); status != 503 || code != "overloaded" {
		t.Errorf("answered %d %s", status, code)
	}
}

// What a request without a length weighs is known once it was read.
func TestARequestOfUnknownLengthWeighsWhatItHas(t *testing.T) {
	const requests = heldBytes/maxBodyBytes + 1
	s := newSite(t, Options{}, stuck, lease.Provider{Key: key, Models: []string{"m"}, General: requests})
	ctx, hangUp := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range requests {
		callers.Go(func() {
			body := io.MultiReader(strings.NewReader(ask), strings.NewReader(strings.Repeat(" ", 100-len(ask)))) // no length: chunked
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/completions", body)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
				t.Errorf("request %d is answered with %d", i, resp.StatusCode)
			}
		})
		if !t.Failed() {
			testkit.Eventually(t, "it runs", func() bool { return t.Failed() || s.pool.Loads()[key].InFlight == uint32(i+1) })
		}
	}
	hangUp()
	callers.Wait()
	http.DefaultClient.CloseIdleConnections()
	s.idle()
	s.weighsNothing()
}

// weighsNothing waits until no request is held any more.
func (s *site) weighsNothing() {
	s.t.Helper()
	testkit.Eventually(s.t, "nothing is held", func() bool {
		whole := s.handler.held.TryAcquire(heldBytes)
		if whole {
			s.handler.held.Release(heldBytes)
		}
		return whole
	})
}

// A caller that stops reading is let go of when its lease ends, and not when it has read.
func TestACallerThatDoesntReadIsLetGoOf(t *testing.T) {
	var written atomic.Int64
	s := newSite(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
			written.Add(1)
		}
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(ask), ask); err != nil {
		t.Fatal(err)
	}
	seen, since := int64(0), time.Now()
	testkit.Eventually(t, "every buffer on the way is full", func() bool {
		if now := written.Load(); now != seen {
			seen, since = now, time.Now()
		}
		return seen > 0 && time.Since(since) > 200*time.Millisecond
	})
	if s.pool.Cancel(s.pool.Live()[0].ID) == nil {
		t.Fatal("there is no lease")
	}
	s.weighsNothing()
	s.idle()
}
