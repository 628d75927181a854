package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/client/sse"
)

func TestFollower(t *testing.T) {
	event := func(id string) sse.Message {
		return sse.Message{Event: "node_ready", ID: id, Data: []byte(`{"id":"` + id + `"}`)}
	}
	gap := sse.Message{Event: "gap", Data: []byte(`{"dropped":3,"reason":"overwritten"}`)}
	comment := sse.Message{Comment: true}
	type step struct {
		m    *sse.Message // nil: another stream begins
		want string
		last string
	}
	for name, c := range map[string]struct {
		newest string
		steps  []step
	}{
		"events":                                 {"0", []step{{nil, "", "0"}, {new(event("1")), "1", "1"}, {new(event("2")), "2", "2"}, {nil, "", "2"}}},
		"a gap at the beginning is told at once": {"0", []step{{nil, "", "0"}, {new(gap), "gap", "0"}, {new(event("9")), "9", "9"}}},
		"a gap at the end is for the next stream to tell": {"0", []step{{nil, "", "0"}, {new(event("1")), "1", "1"}, {new(gap), "", "1"},
			{nil, "", "1"}, {new(event("2")), "2", "2"}}},
		"a gap in the middle is told":                  {"0", []step{{nil, "", "0"}, {new(event("1")), "1", "1"}, {new(gap), "", "1"}, {new(event("5")), "gap 5", "5"}}},
		"a stream that goes on with a comment goes on": {"0", []step{{nil, "", "0"}, {new(comment), "", "0"}, {new(gap), "", "0"}, {new(comment), "gap", "0"}}},
		"where nothing happened yet the first gap says nothing": {"", []step{{nil, "", "none"}, {new(gap), "", "none"}, {new(event("1")), "1", "1"},
			{nil, "", "1"}, {new(gap), "gap", "1"}}},
		"but only on the first stream":      {"", []step{{nil, "", "none"}, {new(comment), "", "none"}, {nil, "", "none"}, {new(gap), "gap", "none"}}},
		"an event without id moves nothing": {"0", []step{{nil, "", "0"}, {new(event("")), "", "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &follower{}
			f.startAt(c.newest)
			for i, s := range c.steps {
				got := ""
				if s.m == nil {
					f.begin()
				} else {
					updates, err := f.take(*s.m)
					if err != nil {
						t.Fatal(err)
					}
					got = spell(updates)
				}
				if got != s.want || f.last != s.last {
					t.Errorf("step %d tells %q and stands at %q, want %q and %q", i, got, f.last, s.want, s.last)
				}
			}
		})
	}
}

func spell(updates []Update) (s string) {
	for _, u := range updates {
		if s != "" {
			s += " "
		}
		if u.Gap != nil {
			s += "gap"
		} else {
			s += u.Event.ID
		}
	}
	return s
}

func (s *eventServer) askedFor() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// eventServer has events 1 to n, and streams them as a test says.
type eventServer struct {
	t *testing.T

	mu      sync.Mutex
	asked   []string // Last-Event-ID of each stream
	streams []string // what each one brings before it is cut; the last one stays
	newest  string
}

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") != "text/event-stream" {
		answerJSON(w, 200, "application/json", fmt.Sprintf(`{"events":[],"gap":null,"next":%s}`, s.newest))
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.Header.Get("Last-Event-ID"))
	stream, last := s.streams[0], len(s.streams) == 1
	if !last {
		s.streams = s.streams[1:]
	}
	s.mu.Unlock()
	if stream == "busy" {
		w.Header().Set("Retry-After", "0")
		answerJSON(w, 503, problemType, `{"code":"shutting_down","detail":"bye"}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, stream)
	_ = http.NewResponseController(w).Flush()
	if last {
		<-r.Context().Done()
		return
	}
	panic(http.ErrAbortHandler) // cut in the middle
}

func wireEvent(id string) string {
	return fmt.Sprintf("id: %s\nevent: node_ready\ndata: {\"id\":%q,\"kind\":\"node_ready\",\"at\":\"2026-01-02T03:04:05Z\"}\n\n", id, id)
}

func TestFollowComesBack(t *testing.T) {
	s := &eventServer{t: t, newest: `"e0"`, streams: []string{
		wireEvent("e1") + wireEvent("e2") + "id: e3\nevent: node_", // half an event
		"busy",
		"event: gap\ndata: {\"dropped\":2,\"reason\":\"overwritten\"}\n\n" + wireEvent("e5"),
		"",
		wireEvent("e6"),
	}}
	r := serve(t, s, Options{})
	changes := ""
	got := ""
	for u, err := range r.Follow(within(t), FollowQuery{Changed: func(err error, _ time.Duration) {
		if err == nil {
			changes += "+"
		} else {
			changes += "-"
		}
	}}) {
		if err != nil {
			t.Fatal(err)
		}
		got += spell([]Update{u}) + " "
		if u.Event != nil && u.Event.ID == "e6" {
			break
		}
	}
	if want := "e1 e2 gap e5 e6 "; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"e0", "e2", "e2", "e5", "e5"}, s.askedFor()); diff != "" || changes != "+--+-+-+" {
		t.Errorf("it came and went %s; %s", changes, diff)
	}
}

func TestFollowFromTheVeryBeginning(t *testing.T) {
	s := &eventServer{t: t, newest: "null", streams: []string{"event: gap\ndata: {\"dropped\":null,\"reason\":\"restarted\"}\n\n" + wireEvent("e1")}}
	for u, err := range serve(t, s, Options{}).Follow(within(t), FollowQuery{}) {
		if err != nil || u.Event == nil || u.Event.ID != "e1" {
			t.Fatalf("got %+v, %v", u, err)
		}
		break
	}
	if asked := s.askedFor(); asked[0] != beforeAll {
		t.Errorf("asked for events behind %q", asked)
	}
}

// Who has had an empty list misses nothing that has happened since.
func TestFollowFromStart(t *testing.T) {
	s := &eventServer{t: t, newest: `"e2"`, streams: []string{"event: gap\ndata: {\"dropped\":null,\"reason\":\"restarted\"}\n\n" + wireEvent("e1") + wireEvent("e2"), ""}}
	got := ""
	for u, err := range serve(t, s, Options{}).Follow(within(t), FollowQuery{FromStart: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if got += spell([]Update{u}) + " "; u.Event != nil && u.Event.ID == "e2" {
			break
		}
	}
	if asked := s.askedFor(); got != "e1 e2 " || asked[0] != beforeAll {
		t.Errorf("told %q, asked for events behind %q", got, asked)
	}
}

func TestFollowEnds(t *testing.T) {
	refuse := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, status, kind, body) }
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want func(error) bool
	}{
		"a wrong token":  {refuse(401, problemType, `{"code":"unauthenticated"}`), func(err error) bool { return errors.Is(err, Unauthenticated) }},
		"another server": {refuse(200, "text/html", "hi"), func(err error) bool { return errors.As(err, new(*Unexpected)) }},
		"no events": {func(w http.ResponseWriter, r *http.Request) {
			answerJSON(w, 200, "text/event-stream", "data: no JSON\n\n")
		}, func(err error) bool { return errors.Is(err, errNotEvents) }},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			var last error
			for _, err := range serve(t, c.h, Options{}).Follow(within(t), FollowQuery{After: "e1"}) {
				n, last = n+1, err
			}
			if n != 1 || !c.want(last) {
				t.Errorf("%d things told, the last one %v", n, last)
			}
		})
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	s := &eventServer{t: t, newest: `"e0"`, streams: []string{wireEvent("e1")}}
	r := serve(t, s, Options{})
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var last error
	for u, err := range r.Follow(ctx, FollowQuery{}) {
		if last = err; u.Event != nil {
			cancel()
		}
	}
	if last != context.Canceled { //nolint:errorlint // exactly the caller's
		t.Errorf("it ended with %v", last)
	}
}

// A server that takes the request and says nothing is left for another try.
func TestFollowLeavesASilentServer(t *testing.T) {
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		<-q.Context().Done()
	}), Options{Timeout: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	lost := 0
	for _, err := range r.Follow(ctx, FollowQuery{After: "e1", Changed: func(err error, _ time.Duration) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("lost for %v", err)
		}
		if lost++; lost == 3 {
			cancel()
		}
	}}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
	if lost != 3 {
		t.Errorf("tried %d times", lost)
	}
}

// Whatever a stream brings, a message tells of at most a gap and an event.
func FuzzFollower(f *testing.F) {
	f.Add([]byte("id: 1\nevent: e\ndata: {}\n\n"))
	f.Add([]byte(": c\n\nid: 1\nevent: gap\ndata: {}\n\nevent: gap\ndata: {}\n\ndata: {}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		follower := &follower{}
		follower.begin()
		for messages := sse.NewReader(bytes.NewReader(stream)); ; {
			m, err := messages.Next()
			if err != nil {
				return
			}
			if updates, err := follower.take(m); err == nil && len(updates) > 2 {
				t.Fatalf("%d updates of one message", len(updates))
			}
		}
	})
}
