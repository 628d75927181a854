package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"iop/actors"
	"iop/wire"
)

// reader is the far end of a stream in memory: it keeps what is flushed, and can fail.
type reader struct {
	mu      sync.Mutex
	header  http.Header
	status  int
	pending []byte
	got     []byte
	flushes int
	broken  error
}

func newReader() *reader { return &reader{header: http.Header{}} }

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(status int) { r.status = status }

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return 0, r.broken
	}
	r.pending = append(r.pending, p...)
	return len(p), nil
}

func (r *reader) FlushError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushes++
	r.got, r.pending = append(r.got, r.pending...), nil
	return r.broken
}

func (r *reader) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.got)
}

func (r *reader) flushed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flushes
}

func (r *reader) fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = errors.New("gone")
}

// live is a stream under way in a synctest bubble.
type live struct {
	*reader
	server    *Server
	events    chan *actors.LiveEvent
	after     string
	missed    bool
	cancelled int
	hangUp    context.CancelFunc
	ended     chan struct{}
}

func streamOf(backlog []*actors.Event, gap *actors.Gap, headers ...string) *live {
	l := &live{reader: newReader(), events: make(chan *actors.LiveEvent, 4096), ended: make(chan struct{})}
	plane := &fakePlane{subscribe: func(after string) *actors.Subscription {
		l.after = after
		sub := actors.NewSubscription(l.events, func() bool { return l.missed }, func() { l.cancelled++ })
		sub.Backlog, sub.Gap = backlog, gap
		return sub
	}}
	l.server = newServer(plane)
	var ctx context.Context
	ctx, l.hangUp = context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/fleet/events?after=from-url", nil)
	r.Header.Set("Accept", streamType)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	go func() {
		l.server.ServeHTTP(l.reader, r)
		close(l.ended)
	}()
	synctest.Wait()
	return l
}

func (l *live) wantEnd(t *testing.T) {
	t.Helper()
	time.Sleep(gatherTime)
	synctest.Wait()
	select {
	case <-l.ended:
	default:
		t.Fatal("the stream goes on")
	}
	if l.cancelled != 1 {
		t.Errorf("the subscription was cancelled %d times", l.cancelled)
	}
	if n := l.server.InFlight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

func event(i int) *actors.Event {
	return &actors.Event{Run: "r", Seq: uint64(i), EdgeID: "x", Kind: actors.NodeReady, Message: "line\nline", At: time.Now()}
}

func TestStreamSendsAsItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf([]*actors.Event{event(1)}, &actors.Gap{Reason: actors.Restarted})
		if l.status != http.StatusOK || l.header.Get("Content-Type") != streamType || l.header.Get("Cache-Control") != "no-store" || l.header.Get(requestIDHeader) == "" {
			t.Errorf("answered %d %v", l.status, l.header)
		}
		if l.after != "from-url" {
			t.Errorf("resumed after %q", l.after)
		}
		l.events <- &actors.LiveEvent{Event: event(2)}
		synctest.Wait()
		blocks := strings.Split(l.text(), "\n\n")
		if len(blocks) != 4 || blocks[0] != "event: gap\ndata: {\"dropped\":null,\"reason\":\"restarted\"}" ||
			!strings.HasPrefix(blocks[1], "id: r-000000000001-0-fd0c5087\nevent: node_ready\ndata: {\"id\":\"r-000000000001-0-fd0c5087\",\"edge_id\":\"x\"") || !strings.HasPrefix(blocks[2], "id: r-000000000002-0-fd0c5087\n") || blocks[3] != "" {
			t.Errorf("sent %q", blocks)
		}
		for _, b := range blocks[:3] {
			if lines := strings.Split(b, "\n"); len(lines) > 3 {
				t.Errorf("a message breaks the frame: %q", b)
			}
		}
		l.hangUp()
		l.wantEnd(t)
	})
}

func TestStreamKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		if n := l.flushed(); n != 1 {
			t.Errorf("the headers were not sent at once: %d flushes", n)
		}
		for range 6 { // also while events flow
			time.Sleep(15 * time.Second)
			before := strings.Count(l.text(), string(comment))
			l.events <- &actors.LiveEvent{Event: event(1)}
			time.Sleep(15 * time.Second)
			if after := strings.Count(l.text(), string(comment)); after == before {
				t.Fatal("no comment line in 15 s")
			}
		}
		l.server.Drain()
		l.wantEnd(t)
	})
}

func TestStreamResumesByHeaderFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil, "Last-Event-ID", "from-header")
		if l.after != "from-header" {
			t.Errorf("resumed after %q", l.after)
		}
		l.server.Drain()
		l.wantEnd(t)
	})
}

// A reader that couldn't keep up gets what waited for it, then a gap, then the end.
func TestStreamEndsWithAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		l.missed = true
		for i := range 3 {
			l.events <- &actors.LiveEvent{Event: event(i)}
		}
		close(l.events)
		l.wantEnd(t)
		if s := l.text(); strings.Count(s, "id: ") != 3 || !strings.HasSuffix(s, "event: gap\ndata: {\"dropped\":null,\"reason\":\"overwritten\"}\n\n") {
			t.Errorf("sent %q", s)
		}
	})
}

func TestStreamEndsQuietlyWithTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		close(l.events)
		l.wantEnd(t)
		if strings.Contains(l.text(), "gap") {
			t.Errorf("sent %q", l.text())
		}
	})
}

func TestStreamEndsWhenNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		l.fail()
		l.events <- &actors.LiveEvent{Event: event(1)}
		l.wantEnd(t)
	})
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		l.fail()
		time.Sleep(keepAlive) // the comment finds out
		l.wantEnd(t)
	})
}

// A long backlog doesn't hold up a stop.
func TestStreamStopsInItsBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var backlog []*actors.Event
		for i := range 10_000 {
			backlog = append(backlog, event(i))
		}
		sub := actors.NewSubscription(nil, nil, nil)
		sub.Backlog = backlog
		r := newReader()
		st := &stream{w: r, flush: r.FlushError, stopping: closedChannel()}
		st.run(sub)
		if n := strings.Count(r.text(), "id: "); n == 0 || n > 1000 {
			t.Errorf("%d of %d events were sent on", n, len(backlog))
		}
	})
}

// A reader that is so slow with what came before that it has missed what came since is ended there: behind the hole nothing is sent.
func TestStreamThatMissesDuringItsBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var backlog []*actors.Event
		for i := range 10_000 {
			backlog = append(backlog, event(i))
		}
		r := newReader()
		live := make(chan *actors.LiveEvent, 1)
		live <- &actors.LiveEvent{Event: event(20_000)}
		close(live)
		sub := actors.NewSubscription(live, func() bool { return len(r.text()) > 0 }, nil)
		sub.Backlog = backlog
		st := &stream{w: r, flush: r.FlushError}
		st.run(sub)
		text := r.text()
		n := strings.Count(text, "id: ")
		if n == 0 || n > 1000 || strings.Count(text, "event: gap") != 1 || !strings.HasPrefix(text[strings.LastIndex(text, "event: "):], "event: gap") {
			t.Errorf("%d of %d events were sent on, and then: %q", n, len(backlog), text[max(0, len(text)-200):])
		}
		if backlog[0] != nil || backlog[len(backlog)-1] == nil {
			t.Error("what was sent is kept, or what wasn't is gone")
		}
	})
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// What waits goes out together, in pieces that a slow reader can take one by one.
func TestStreamBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		first := l.flushed()
		l.reader.mu.Lock() // the stream stands still in its first write
		for i := range 1000 {
			l.events <- &actors.LiveEvent{Event: event(i)}
		}
		l.reader.mu.Unlock()
		synctest.Wait()
		if n := strings.Count(l.text(), "id: "); n != 1000 {
			t.Errorf("%d of 1000 events sent", n)
		}
		most := len(l.text())/batchBytes + 3
		if n := l.flushed() - first; n > most {
			t.Errorf("%d flushes for %d bytes, want at most %d", n, len(l.text()), most)
		}
		l.hangUp()
		l.wantEnd(t)
	})
}

// Events that come one by one, a thousand a second, gather; the first of them doesn't wait, nor does one after a quiet time.
func TestStreamGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := streamOf(nil, nil)
		first := l.flushed()
		for i := range 1000 {
			l.events <- &actors.LiveEvent{Event: event(i)}
			synctest.Wait()
			if i == 0 && strings.Count(l.text(), "id: ") != 1 {
				t.Error("the first event waits")
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(gatherTime)
		synctest.Wait()
		if n := strings.Count(l.text(), "id: "); n != 1000 {
			t.Errorf("%d of 1000 events sent", n)
		}
		if n, most := l.flushed()-first, int(time.Second/gatherTime)+1; n > most {
			t.Errorf("%d flushes in a second, want at most %d", n, most)
		}
		l.events <- &actors.LiveEvent{Event: event(1000)}
		synctest.Wait()
		if n := strings.Count(l.text(), "id: "); n != 1001 {
			t.Error("an event after a quiet time waits")
		}
		l.hangUp()
		l.wantEnd(t)
	})
}

func TestEventIsRenderedOnce(t *testing.T) {
	l := &actors.LiveEvent{Event: event(1)}
	if a, b := l.Render(renderEvent), l.Render(renderEvent); &a[0] != &b[0] {
		t.Error("rendered twice")
	}
}

func TestStreamRefusedByThePlane(t *testing.T) {
	s := newServer(&refusingPlane{})
	do(s, http.MethodGet, "/fleet/events", "", "Accept", streamType).wantProblem(t, wire.Internal)
}

type refusingPlane struct{ fakePlane }

func (refusingPlane) Subscribe(context.Context, string) (*actors.Subscription, *wire.Fault) {
	return nil, &wire.Fault{Code: wire.Internal, Message: "no"}
}
