package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:18080":       "http://127.0.0.1:18080",
		"https://control.example/iop/": "https://control.example/iop",
		"http://[::1]:18080":           "http://[::1]:18080",
		"127.0.0.1:18080":              "",
		"ws://127.0.0.1:19080":         "",
		"http://":                      "",
		"http://u:p@h":                 "",
		"http://h?x=1":                 "",
		"http://h#f":                   "",
		"http://h:1:2":                 "",
		"":                             "",
	} {
		r, err := New(address, Options{})
		if (err == nil) != (want != "") || err == nil && r.Address() != want {
			t.Errorf("%q: %v, %v; want %q", address, r, err, want)
		}
	}
}

func TestWhatARequestCarries(t *testing.T) {
	var got *http.Request
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		got = q
		answerJSON(w, 200, "application/json", `{"edges":[],"total":0}`)
	}), Options{Token: "iop_secret", UserAgent: "mine/1"})
	q := EdgeQuery{State: Stale, Labels: map[string]string{"b": "2", "a": "1=&x"}, Prefix: "seo", Limit: 7, Cursor: "c.1"}
	if _, err := r.Edges(WithRequestID(within(t), "ticket-7"), q); err != nil {
		t.Fatal(err)
	}
	if want := "/edges?cursor=c.1&label=a%3D1%3D%26x&label=b%3D2&limit=7&prefix=seo&state=stale"; got.RequestURI != want {
		t.Errorf("asked for %s, want %s", got.RequestURI, want)
	}
	for name, want := range map[string]string{"Authorization": "Bearer iop_secret", "User-Agent": "mine/1", "X-Request-Id": "ticket-7", "Accept": "application/json"} {
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	first := got.Header.Get("X-Request-Id")
	if _, err := r.Edges(within(t), EdgeQuery{}); err != nil || got.RequestURI != "/edges" {
		t.Errorf("%v; asked for %s", err, got.RequestURI)
	}
	if id := got.Header.Get("X-Request-Id"); id == "" || id == first {
		t.Errorf("the next request's id is %q", id)
	}
}

func TestProblems(t *testing.T) {
	const body = `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"gone","code":"edge_disconnected","request_id":"R1",
		"disconnected_at":"2026-01-02T03:04:05.5Z","disconnect_reason":"goodbye","operation":{"operation_id":"op1","state":"unknown"}}`
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Retry-After", "3")
		answerJSON(w, 503, problemType, body)
	}), Options{})
	_, err := r.Edge(within(t), "seoul-1")
	var p *Problem
	if !errors.As(err, &p) || !errors.Is(err, EdgeDisconnected) || errors.Is(err, EdgeNotFound) {
		t.Fatalf("got %v", err)
	}
	want := &Problem{Code: EdgeDisconnected, Status: 503, Title: "Service Unavailable", Detail: "gone", RequestID: "R1", RetryAfter: 3 * time.Second,
		DisconnectedAt: new(time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC)), DisconnectReason: new("goodbye"),
		Operation: &Operation{OperationID: "op1", State: Unknown}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersThatNoControlPlaneGives(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a proxy's page":       func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 502, "text/html", "<html>") },
		"a page":               func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, "text/html", "<html>") },
		"two documents":        func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, "application/json", `{}{}`) },
		"a problem of others":  func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 404, problemType, `{"title":"x"}`) },
		"a redirect":           func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, "/elsewhere", http.StatusFound) },
		"a problem that's cut": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 404, problemType, `{"code":"edge_`) },
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { asked++; h(w, q) }), Options{Token: "secret"})
			_, err := r.Edge(within(t), "seoul-1")
			if odd := (*Unexpected)(nil); !errors.As(err, &odd) {
				t.Errorf("got %v", err)
			}
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		chunk := strings.Repeat(" ", 1<<20)
		for {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}), Options{Timeout: soon})
	r.maxAnswer = 2 << 20
	_, err := r.Edge(within(t), "seoul-1")
	if large := (*TooLarge)(nil); !errors.As(err, &large) || err.Error() != "the answer is over 2 MiB" {
		t.Errorf("got %v", err)
	}
}

// A page that is too large comes in parts; only an item that is too large by itself is an error.
func TestPagesFit(t *testing.T) {
	const many, kilobytes = 10, 3
	for name, list := range map[string]struct {
		member, item string
		all          func(r *Repository, limit int) (n int, err error)
	}{
		"edges": {"edges", `{"edge_id":"a"}`, func(r *Repository, limit int) (int, error) {
			return countItems(r.AllEdges(within(t), EdgeQuery{Limit: limit}))
		}},
		"operations": {"operations", `{"operation_id":"a"}`, func(r *Repository, limit int) (int, error) {
			return countItems(r.AllOperations(within(t), OperationQuery{Limit: limit}))
		}},
		"statuses": {"statuses", `{"edge_id":"a"}`, func(r *Repository, limit int) (n int, err error) {
			for p, err := range r.AllFleetStatus(within(t), FleetQuery{Limit: limit}) {
				if err != nil {
					return n, err
				}
				n += len(p.Statuses)
			}
			return n, nil
		}},
	} {
		for _, c := range []struct {
			limit, bound int // of a page and, in kilobytes, of an answer
			asked        string
		}{
			{8, 30, "8@ 8@8"},
			{8, 13, "8@ 4@ 4@4 4@8"},
			{0, 13, "@ 50@ 25@ 12@ 6@ 3@ 3@3 3@6 3@9"},
			{5, 2, "5@ 2@ 1@"},
		} {
			t.Run(fmt.Sprint(name, c), func(t *testing.T) {
				var asked []string
				r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					asked = append(asked, q.FormValue("limit")+"@"+q.FormValue("cursor"))
					limit := 100
					if given := q.FormValue("limit"); given != "" {
						limit, _ = strconv.Atoi(given)
					}
					from, _ := strconv.Atoi(q.FormValue("cursor"))
					to, next := min(many, from+limit), "null"
					if to < many {
						next = fmt.Sprintf(`"%d"`, to)
					}
					items := strings.Repeat(","+list.item+strings.Repeat(" ", kilobytes<<10), to-from)[1:]
					answerJSON(w, 200, "application/json", fmt.Sprintf(`{%q:[%s],"next_cursor":%s}`, list.member, items, next))
				}), Options{})
				r.maxAnswer = int64(c.bound << 10)
				n, err := list.all(r, c.limit)
				if got := strings.Join(asked, " "); got != c.asked {
					t.Errorf("asked for %s, want %s", got, c.asked)
				}
				if tooLarge := c.bound < kilobytes; errors.As(err, new(*TooLarge)) != tooLarge || !tooLarge && (err != nil || n != many) {
					t.Errorf("%d items, %v", n, err)
				}
			})
		}
	}
}

func countItems[T any](all iter.Seq2[T, error]) (n int, err error) {
	for _, err := range all {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestNothingWaitsForEver(t *testing.T) {
	release := make(chan struct{})
	r := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }), Options{Timeout: time.Millisecond})
	defer close(release)
	_, err := r.Edge(within(t), "seoul-1")
	if lost := (*Unreachable)(nil); !errors.As(err, &lost) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("when the time was up: %v", err)
	}
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if _, err = r.Edge(ctx, "seoul-1"); err != context.Canceled { //nolint:errorlint // exactly the caller's
		t.Errorf("when the caller ended it: %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	r := repositoryOf(t, "http://127.0.0.1:1", Options{})
	_, err := r.Edge(within(t), "seoul-1")
	if lost := (*Unreachable)(nil); !errors.As(err, &lost) || !strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("got %v", err)
	}
}

func TestAnIDMakesNoOtherPath(t *testing.T) {
	r := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { t.Errorf("asked for %s", q.RequestURI) }), Options{})
	ctx := within(t)
	for _, id := range []string{"", ".", "..", "a/b", "a?b", "a%2Fb", "-a", "a b", "a\n"} {
		if _, err := r.Edge(ctx, id); !errors.Is(err, InvalidRequest) {
			t.Errorf("Edge %q: %v", id, err)
		}
		if _, err := r.Command(ctx, Command{EdgeID: id, Operation: "x"}); !errors.Is(err, InvalidRequest) {
			t.Errorf("Command %q: %v", id, err)
		}
	}
	for _, id := range []string{"", ".", ".."} {
		if _, err := r.Operation(ctx, "seoul-1", id); !errors.Is(err, InvalidRequest) {
			t.Errorf("Operation %q: %v", id, err)
		}
	}
}

func TestPages(t *testing.T) {
	pages := map[string]string{
		"":   `{"edges":[{"edge_id":"a"},{"edge_id":"b"}],"total":3,"next_cursor":"p2"}`,
		"p2": `{"edges":[],"total":3,"next_cursor":"p3"}`,
		"p3": `{"edges":[{"edge_id":"c"}],"total":3,"next_cursor":null}`,
	}
	asked := 0
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked++
		answerJSON(w, 200, "application/json", pages[q.URL.Query().Get("cursor")])
	}), Options{})
	var ids []string
	for e, err := range r.AllEdges(within(t), EdgeQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.EdgeID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids); diff != "" || asked != 3 {
		t.Errorf("%d pages; %s", asked, diff)
	}
	asked = 0
	for range r.AllEdges(within(t), EdgeQuery{}) {
		break
	}
	if asked != 1 {
		t.Errorf("asked for %d pages where one item was taken", asked)
	}
}

func TestPagesEnd(t *testing.T) {
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Query().Get("cursor") {
		case "":
			answerJSON(w, 200, "application/json", `{"operations":[{"operation_id":"1"}],"next_cursor":"same"}`)
		case "same":
			answerJSON(w, 200, "application/json", `{"operations":[{"operation_id":"2"}],"next_cursor":"same"}`)
		default:
			answerJSON(w, 400, problemType, `{"code":"invalid_request","detail":"cursor"}`)
		}
	}), Options{})
	n := 0
	for _, err := range r.AllOperations(within(t), OperationQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d items of a list whose cursor leads to itself", n)
	}
	var last error
	for o, err := range r.AllOperations(within(t), OperationQuery{Cursor: "bad"}) {
		if last = err; o != nil {
			t.Errorf("got %v", o)
		}
	}
	if !errors.Is(last, InvalidRequest) {
		t.Errorf("the last thing is %v", last)
	}
}

func TestServerClock(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for date, want := range map[string]time.Duration{
		now.Add(time.Hour).Format(http.TimeFormat):        time.Hour,
		now.Add(-2 * time.Minute).Format(http.TimeFormat): -2 * time.Minute,
		now.Add(time.Second).Format(http.TimeFormat):      0,
		"yesterday": 0,
		"":          0,
	} {
		var c serverClock
		c.read(date, now)
		if got := c.now(now).Sub(now); got != want {
			t.Errorf("%q: off by %v, want %v", date, got, want)
		}
	}
}

func TestProblemSentences(t *testing.T) {
	for err, want := range map[error]string{
		&Problem{Code: EdgeBusy, Detail: "too much"}:             "too much (edge_busy)",
		&Unreachable{context.DeadlineExceeded}:                   "the Control Plane did not answer in time",
		&Unreachable{io.ErrUnexpectedEOF}:                        "the connection to the Control Plane failed: unexpected EOF",
		&Uncertain{Key: "k", Err: io.EOF}:                        "the command may have been sent: EOF",
		&GoAway{Reason: "SHUTDOWN", Message: "bye"}:              "the Control Plane ended the connection (SHUTDOWN): bye",
		&Unexpected{Status: 503, What: "y"}:                      "something in between (a proxy?) answers 503: the Control Plane behind it is probably down",
		&UpgradeRefused{403}:                                     "the Client wire was refused with HTTP status 403",
		fmt.Errorf("x: %w", &Unexpected{Status: 200, What: "y"}): "x: an answer with status 200 that no Control Plane gives: y",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
