package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iop/wire/backoff"
)

// transport is a network whose every answer a test decides.
type transport func(*http.Request) (*http.Response, error)

func (do transport) RoundTrip(r *http.Request) (*http.Response, error) { return do(r) }

// outage is a network on which a command's calls end as steps say, and the last step is repeated: ok, cut (a connection that ends without an
// answer), down (no connection), silent, or asleep (this machine is, for an hour).
func outage(steps string, at func(step string)) transport {
	left := strings.Fields(steps)
	return func(r *http.Request) (*http.Response, error) {
		step := left[0]
		if len(left) > 1 {
			left = left[1:]
		}
		at(step)
		if step == "down" {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}
		if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
			trace.GotConn(httptrace.GotConnInfo{})
		}
		switch step {
		case "cut":
			return nil, io.EOF
		case "asleep":
			time.Sleep(time.Hour)
			return nil, r.Context().Err()
		case "silent":
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		w := httptest.NewRecorder()
		body := `{"operation_id":"op1","state":"succeeded"}`
		if r.Method == "" || r.Method == http.MethodGet {
			body = `{"events":[],"next":"e1"}`
		}
		answerJSON(w, 200, "application/json", body)
		return w.Result(), nil
	}
}

// Whoever waits for a command hears of an outage when it begins and when it is over; where it stays, the error says what it was, and not
// only that the time is up.
func TestACommandInAnOutage(t *testing.T) {
	const limit = 40 * time.Second // of the command below
	for name, c := range map[string]struct {
		steps string // first the newest event, then the command, then a look at the events before each further command
		told  string // repetitions left out
		took  time.Duration
		ends  string // the error; empty: none
	}{
		"that ends":                   {"ok cut down down ok ok", "lost back", 0, ""},
		"that ends, and comes back":   {"ok cut down ok cut ok ok", "lost back lost back", 0, ""},
		"that stays":                  {"ok cut down", "lost", limit, "uncertain: the Control Plane can't be reached: dial: connection refused"},
		"that stays, with a hang":     {"ok cut silent", "lost", limit, "uncertain: the Control Plane did not answer in time"},
		"that begins with a hang":     {"ok silent", "lost", limit, "uncertain: the Control Plane did not answer in time"},
		"before it was sent":          {"ok down", "lost", 0, "the Control Plane can't be reached: dial: connection refused"},
		"before it was sent, and end": {"ok down down ok", "lost back", 0, ""},
		"before anything, asleep":     {"asleep", "", time.Hour, "the Control Plane did not answer in time"},
		"before anything":             {"down", "", 0, "the Control Plane can't be reached: dial: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := repositoryOf(t, "http://cp", Options{Timeout: 10 * time.Second})
				r.http.Transport = outage(c.steps, func(string) {})
				r.commandBackoff = func() *backoff.Backoff { return backoff.New(time.Second, time.Second) }
				began := time.Now()
				var told []string
				tell := func(word string) {
					if len(told) == 0 || told[len(told)-1] != word {
						told = append(told, word)
					}
				}
				changed := func(err error, retryIn time.Duration) {
					switch {
					case err == nil:
						tell("back")
					case retryIn != time.Second || !isLost(err):
						t.Errorf("it tells %v, and the next try in %v", err, retryIn)
					default:
						tell("lost")
					}
				}
				_, err := r.Command(t.Context(), Command{EdgeID: "seoul-1", Operation: "x", Timeout: 20 * time.Second, Changed: changed})
				took := time.Since(began)
				if got := strings.Join(told, " "); got != c.told || c.took != 0 && took != c.took || c.took == 0 && took > limit {
					t.Errorf("it tells %q, want %q, and took %v", got, c.told, took)
				}
				got := ""
				if u := (*Uncertain)(nil); errors.As(err, &u) {
					got, err = "uncertain: ", u.Err
				}
				if err != nil {
					got += err.Error()
				}
				if got != c.ends || err != nil && !isLost(err) {
					t.Errorf("it ends with %s, want %s", got, c.ends)
				}
			})
		})
	}
}

// A caller who gives up in an outage gets the context's error, as anywhere.
func TestACommandWhoseCallerGivesUpInAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		steps, at string // at which step the caller gives up; empty: while nothing is asked
		sent      bool
	}{
		"while it waits":               {"ok cut down", "", true},
		"while it looks":               {"ok cut silent", "silent", true},
		"while it waits, nothing sent": {"ok down", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := repositoryOf(t, "http://cp", Options{})
				r.http.Transport = outage(c.steps, func(step string) {
					if step == c.at {
						cancel()
					}
				})
				changed := func(error, time.Duration) {
					if c.at == "" {
						cancel()
					}
				}
				_, err := r.Command(ctx, Command{EdgeID: "seoul-1", Operation: "x", Changed: changed})
				if !errors.Is(err, context.Canceled) || errors.As(err, new(*Uncertain)) != c.sent || isLost(err) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
