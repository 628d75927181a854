package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"iop/load/fleet"
	"iop/load/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTraffic is a load on a server that a test plays.
func newTraffic(t testing.TB, handler http.Handler) *Traffic {
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	tr := New(Options{HTTP: web.URL, Token: "secret", Edges: 3, IDPrefix: "t-", Ledger: ledger.New("t-", 3),
		Calm: func(int) (uint32, bool) { return 1, true }, Timeout: time.Second, CommandTimeout: time.Second, PhaseDelay: time.Millisecond})
	t.Cleanup(tr.http.CloseIdleConnections)
	t.Cleanup(tr.streams.CloseIdleConnections)
	return tr
}

// said is an event of an Edge whose link is that of its first one.
func said(id, edge string, n int) string {
	return fmt.Sprintf("id: %s\nevent: provider_changed\ndata: {\"edge_id\":%q,\"kind\":\"provider_changed\",\"message\":%q,\"at\":%q}\n\n",
		id, edge, fleet.EventMessage(uint64(n), 1), time.Now().UTC().Format(time.RFC3339Nano))
}

func TestALiveReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var resumed, authorized string
	calls := 0
	tr := newTraffic(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Content-Type", "text/event-stream")
		if calls == 1 {
			fmt.Fprint(w, ": hello\n\n", said("a-1", "t-00001", 1), said("a-2", "t-00001", 2), said("a-3", "t-00002", 5),
				"event: gap\ndata: {\"reason\":\"overwritten\"}\n\n", said("a-4", "t-00001", 4), said("a-5", "somebody", 1))
			return
		}
		resumed, authorized = r.Header.Get("Last-Event-ID"), r.Header.Get("Authorization")
		fmt.Fprint(w, said("a-6", "t-00001", 3), said("a-7", "t-00002", 5))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	tr.newReader(false).run(ctx)
	if resumed != "a-5" || authorized != "Bearer secret" {
		t.Errorf("it came back after %q, as %q", resumed, authorized)
	}
	if n := tr.Gaps.Load(); n != 1 || tr.opts.Ledger.Totals().Skipped != 0 {
		t.Errorf("%d gaps, totals %+v; want 1, and nothing skipped that it wasn't told of", n, tr.opts.Ledger.Totals())
	}
	// The end cuts the second stream, so that its events may or may not have been read; the first one's were.
	if n := tr.Events.Counts().OK; n < 5 {
		t.Errorf("%d events", n)
	}
	if kinds := tr.Readers.Counts().Kinds; kinds["stream ended"] != 1 {
		t.Errorf("ends of streams: %v", kinds)
	}
}

func TestALiveReaderFindsDisorder(t *testing.T) {
	tr := newTraffic(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, said("1", "t-00001", 1), said("2", "t-00001", 3), said("3", "t-00001", 2), said("4", "t-00001", 3), "data: {\n\n")
	}))
	r := &eventReader{t: tr, book: tr.opts.Ledger.Events()}
	r.read(t.Context())
	if got, want := tr.opts.Ledger.Totals(), (ledger.Totals{Skipped: 1, OutOfOrder: 1, Duplicated: 1}); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	if tr.Events.Counts().Kinds["not JSON"] != 1 {
		t.Errorf("errors %v", tr.Events.Counts().Kinds)
	}
}

// A stream that was cut in the middle of an event ends before it: it is neither counted nor what to go on after.
func TestALiveReaderWhoseStreamIsCut(t *testing.T) {
	tr := newTraffic(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		whole := said("2", "t-00001", 2)
		fmt.Fprint(w, ": hello\n\n", said("1", "t-00001", 1), whole[:len(whole)-5])
	}))
	r := &eventReader{t: tr, book: tr.opts.Ledger.Events()}
	r.read(t.Context())
	if c := tr.Events.Counts(); c.OK != 1 || c.Errors != 0 || r.last != "1" {
		t.Errorf("%+v, and the last one is %q", c, r.last)
	}
}

// A gap, and the end of a stream, are excused by an outage since the last event, and by no earlier one.
func TestWhatExcusesALiveReader(t *testing.T) {
	const gap = "event: gap\ndata: {\"reason\":\"overwritten\"}\n\n"
	event := said("1", "t-00001", 1)
	outage := func(tr *Traffic) {
		tr.Outage(true)
		tr.Outage(false)
	}
	for name, c := range map[string]struct {
		slow      bool
		do        func(*Traffic, *eventReader)
		unexcused uint64
		ended     bool // whether an end would be excused now
	}{
		"no outage":           {do: func(_ *Traffic, r *eventReader) { r.told(event + gap + gap) }, unexcused: 2},
		"a slow reader":       {slow: true, do: func(_ *Traffic, r *eventReader) { r.told(gap) }, ended: true},
		"back after it":       {do: func(tr *Traffic, r *eventReader) { r.told(event); outage(tr); r.told(gap) }, ended: true},
		"back while it lasts": {do: func(tr *Traffic, r *eventReader) { r.told(event); tr.Outage(true); r.told(gap) }, ended: true},
		"an event while it lasts": {do: func(tr *Traffic, r *eventReader) {
			tr.Outage(true)
			r.told(event)
			tr.Outage(false)
			r.told(gap)
		}, ended: true},
		"an event since then": {do: func(tr *Traffic, r *eventReader) { outage(tr); r.told(gap + event + gap) }, unexcused: 1},
	} {
		tr := newTraffic(t, http.NotFoundHandler())
		r := &eventReader{t: tr, slow: c.slow, book: tr.opts.Ledger.Events()}
		c.do(tr, r)
		if got := tr.UnexcusedGaps.Load(); got != c.unexcused || r.excused() != c.ended {
			t.Errorf("%s: unexcused gaps %d, want %d; an end is excused: %v, want %v", name, got, c.unexcused, r.excused(), c.ended)
		}
	}
}

// told has the reader read a stream.
func (r *eventReader) told(stream string) { r.stream(context.Background(), strings.NewReader(stream)) }

// Two live readers, and a slow one, have a stream each. Three Edges say an event every 2 s, ten in all.
func TestEventsThatDontCome(t *testing.T) {
	all := func(int, int) bool { return true }
	none := func(int, int) bool { return false }
	for name, c := range map[string]struct {
		gives   func(edge, n int) bool
		opens   int  // streams can be opened only after so many events
		outage  bool // from the third event until just before the last
		overdue uint64
		given   uint64
	}{
		"all come":                       {gives: all, given: 60},
		"none comes":                     {gives: none, overdue: 6},
		"none comes any more":            {gives: func(_, n int) bool { return n <= 4 }, overdue: 6, given: 24},
		"one Edge is left out":           {gives: func(edge, _ int) bool { return edge != 1 }, overdue: 2, given: 40},
		"there is no stream":             {gives: none, opens: 11, overdue: 6},
		"a stream opens after the last":  {gives: none, opens: 10},
		"none comes, for an outage":      {gives: none, outage: true},
		"the last ones are on their way": {gives: func(_, n int) bool { return n <= 8 }, given: 48},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				books := ledger.New("t-", 3)
				tr := New(Options{HTTP: "http://plane", Edges: 3, IDPrefix: "t-", Ledger: books, Duration: time.Hour, Readers: 2, SlowReaders: 1})
				var mu sync.Mutex
				var streams []*io.PipeWriter
				n := 0
				tr.streams = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					if n < c.opens {
						return nil, errors.New("closed")
					}
					body, stream := io.Pipe()
					context.AfterFunc(r.Context(), func() { stream.Close() })
					streams = append(streams, stream)
					return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
				})}
				ctx, enough := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { tr.Run(ctx) })
				defer running.Wait()
				defer enough()
				say := func() {
					mu.Lock()
					defer mu.Unlock()
					n++
					for edge := range 3 {
						books.SaidEvent(edge, uint64(n), 1)
						for _, stream := range streams {
							if c.gives(edge, n) {
								_, _ = io.WriteString(stream, said("id", ledger.EdgeID("t-", edge), n))
							}
						}
					}
				}
				for range 10 {
					time.Sleep(2 * time.Second)
					switch {
					case c.outage && n == 2:
						tr.Outage(true)
					case c.outage && n == 9:
						if got := tr.Overdue(); got != 0 {
							t.Errorf("%d are overdue in an outage", got)
						}
						tr.Outage(false)
					}
					say()
				}
				time.Sleep(1500 * time.Millisecond) // readers come back every second
				synctest.Wait()
				if overdue, given := tr.Overdue(), tr.Given(); overdue != c.overdue || given != c.given {
					t.Errorf("%d are overdue and %d were given, want %d and %d", overdue, given, c.overdue, c.given)
				}
			})
		})
	}
}

// transport answers requests.
type transport func(*http.Request) (*http.Response, error)

func (do transport) RoundTrip(r *http.Request) (*http.Response, error) { return do(r) }

func TestEdgeNumbers(t *testing.T) {
	tr := newTraffic(t, http.NotFoundHandler())
	for id, want := range map[string]int{"t-00000": 0, "t-00002": 2, "t-00003": -1, "t-2": -1, "t-000002": -1, "x-00001": -1, "t-": -1, "t--0001": -1} {
		got, ok := tr.number(id)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s is number %d, want %d", id, got, want)
		}
	}
}

func TestAnswersAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		body     string
		question time.Duration
		want     string
	}{
		"a problem":               {503, `{"code":"edge_disconnected"}`, time.Second, "edge_disconnected"},
		"no problem":              {500, `oops`, time.Second, "status 500"},
		"no JSON":                 {200, `oops`, time.Second, "not JSON"},
		"another Edge":            {200, `{"edge_id":"t-00009","source":"live","nodes":[{"labels":{"load.answer":"t-00001/1"}}]}`, time.Second, "not its answer"},
		"without a stamp":         {200, `{"edge_id":"t-00001","source":"live","nodes":[]}`, time.Second, "not its answer"},
		"an answer of no Edge":    {200, `{"edge_id":"t-00001","source":"live","nodes":[{"labels":{"load.answer":"t-00001/9"}}]}`, time.Second, "not its answer"},
		"one that isn't from now": {200, `{"edge_id":"t-00001","source":"cached","nodes":[{"labels":{"load.answer":"STAMP"}}]}`, time.Second, "not live"},
		"to another question":     {200, `{"edge_id":"t-00001","source":"live","nodes":[{"labels":{"load.answer":"STAMP"}}]}`, time.Second - 1, "not its answer"},
		"the right one":           {200, `{"edge_id":"t-00001","source":"live","nodes":[{"labels":{"load.answer":"STAMP"}}]}`, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var tr *Traffic
			tr = newTraffic(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, strings.Replace(c.body, "STAMP", tr.opts.Ledger.Answer(1, time.Second), 1))
			}))
			a := tr.ask(http.MethodGet, "/edges/t-00001/status", nil, time.Second)
			got := a.kind
			if got == "" {
				got = tr.checkStatus(1, "t-00001", c.question, a)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestNoAnswer(t *testing.T) {
	tr := newTraffic(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}))
	if a := tr.ask(http.MethodPost, "/", []byte("{}"), time.Second); a.kind != "no answer: connection lost" {
		t.Errorf("%q", a.kind)
	}
	tr.opts.HTTP = "http://127.0.0.1:1"
	if a := tr.ask(http.MethodGet, "/", nil, time.Second); a.kind != "no answer: refused" {
		t.Errorf("%q", a.kind)
	}
}

// A command that the Edge goes on with is looked after until its end.
func TestFollow(t *testing.T) {
	for name, c := range map[string]struct {
		states  []string
		ok      bool
		outcome string
	}{
		"to its end":  {[]string{"accepted", "running", "succeeded"}, true, ""},
		"it failed":   {[]string{"running", "failed"}, true, "command failed"},
		"it is gone":  {[]string{""}, false, "not waited for"},
		"a bad nonce": {[]string{"succeeded"}, false, "not its result"},
	} {
		t.Run(name, func(t *testing.T) {
			var nonce string
			calls := 0
			tr := newTraffic(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				state := c.states[min(calls, len(c.states)-1)]
				calls++
				shown := nonce
				if !c.ok {
					shown = "other"
				}
				fmt.Fprintf(w, `{"operation_id":"op","edge_id":"t-00001","state":%q,"result":{"nonce":%q,"edge_id":"t-00001"}}`, state, shown)
			}))
			nonce = tr.opts.Ledger.Ask(1)
			tr.opts.Ledger.Arrived(1, "op", nonce)
			enough := make(chan struct{})
			tr.enough = enough
			if c.states[0] == "" {
				close(enough)
			}
			tr.follow(time.Now(), 1, "t-00001", nonce, "op", func() bool { return false })
			counts := tr.Settled.Counts()
			if c.outcome == "" && counts.OK != 1 || c.outcome != "" && counts.Kinds[c.outcome]+counts.Excuses[c.outcome] != 1 {
				t.Errorf("%+v, want %q", counts, c.outcome)
			}
		})
	}
}
