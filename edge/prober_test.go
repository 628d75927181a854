package edge

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iop/edge/backend"
)

// fakeServer is an engine over real HTTP, whose life a test decides.
type fakeServer struct {
	alive   atomic.Bool
	metrics atomic.Int32 // status
	running atomic.Int32
	slots   atomic.Int32 // status; 0: 200
	models  atomic.Int32 // times asked
	lists   atomic.Pointer[string]
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !f.alive.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/v1/models":
		f.models.Add(1)
		list := f.lists.Load()
		if list == nil {
			list = new(`{"data":[{"id":"m-small"}]}`)
		}
		_, _ = w.Write([]byte(*list))
	case r.URL.Path == "/props" && f.slots.Load() != 0:
		w.WriteHeader(int(f.slots.Load()))
	case r.URL.Path == "/props":
		_, _ = w.Write([]byte(`{"total_slots":6}`))
	case r.URL.Path == "/metrics" && f.metrics.Load() != 200:
		w.WriteHeader(int(f.metrics.Load()))
	case r.URL.Path == "/metrics":
		_, _ = w.Write([]byte("llamacpp:requests_processing " + string('0'+rune(f.running.Load())) + "\n"))
	}
}

// prober serves f, and gives a prober of it with these further settings.
func (f *fakeServer) prober(t *testing.T, further ProbedProvider) *prober {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := newHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	further.ID, further.Type, further.BaseURL = "p", "llamacpp", server.URL
	p, err := newProber(&further, time.Minute, client)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProberOverHTTP(t *testing.T) {
	f := &fakeServer{}
	f.alive.Store(true)
	f.metrics.Store(200)
	f.running.Store(2)
	p := f.prober(t, ProbedProvider{})
	for range 3 {
		if a := p.probe(t.Context()); a.err != nil || a.load.Running != 2 || a.slots != 6 || !equalStrings(a.models, "m-small") {
			t.Errorf("answer is %+v", a)
		}
	}
	if n := f.models.Load(); n != 1 {
		t.Errorf("models were asked %d times in a row of three", n)
	}
	f.metrics.Store(500)
	if a := p.probe(t.Context()); a.err != nil || a.load != nil || a.loadErr == nil {
		t.Errorf("without numbers it is %+v", a)
	}
	f.alive.Store(false)
	if a := p.probe(t.Context()); a.err == nil || a.at.IsZero() {
		t.Errorf("dead it is %+v", a)
	}
	f.alive.Store(true)
	p.probe(t.Context())
	if n := f.models.Load(); n != 2 {
		t.Errorf("after its return models were asked %d times", n)
	}
	configured := f.prober(t, ProbedProvider{Models: []string{"x"}, Capacity: math.MaxUint32})
	if a := configured.probe(t.Context()); a.models != nil || a.slots != 0 || f.models.Load() != 2 {
		t.Errorf("what is configured is asked: %+v", a)
	}
}

// An answer that is no list of models leaves the old one standing, and is asked for again at the next probe.
func TestAnAnswerThatIsNoListEmptiesNothing(t *testing.T) {
	f := &fakeServer{}
	f.alive.Store(true)
	f.metrics.Store(200)
	p := f.prober(t, ProbedProvider{})
	for i, c := range []struct{ list, want string }{
		{`{"data":[{"id":"m-small"}]}`, "m-small"}, {`{"error":"busy"}`, "m-small"}, {`{}`, "m-small"}, {`{"data":[{"id":"m-new"}]}`, "m-new"},
	} {
		f.lists.Store(&c.list)
		if i == 1 {
			p.told = time.Time{} // a minute has passed
		}
		if a := p.probe(t.Context()); a.err != nil || !equalStrings(a.models, c.want) || (a.modelsErr != nil) != (i == 1 || i == 2) {
			t.Errorf("%s: %+v", c.list, a)
		}
	}
	if n := f.models.Load(); n != 4 {
		t.Errorf("models were asked %d times", n)
	}
}

// That there are no models is an answer, and not the lack of one.
func TestAListOfNoneIsTold(t *testing.T) {
	f := &fakeServer{}
	f.alive.Store(true)
	f.metrics.Store(200)
	f.lists.Store(new(`{"data":[]}`))
	if a := f.prober(t, ProbedProvider{}).probe(t.Context()); a.models == nil || a.modelsErr != nil {
		t.Errorf("a list of none is %+v", a)
	}
	f.lists.Store(new(`{}`))
	f.slots.Store(500)
	if a := f.prober(t, ProbedProvider{}).probe(t.Context()); a.models != nil || !errors.Is(a.modelsErr, backend.ErrUnreadable) || !errors.Is(a.slotsErr, backend.StatusError(500)) {
		t.Errorf("no list is %+v", a)
	}
}

// slowly answers each question after a while.
type slowly map[string]string

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(1200 * time.Millisecond):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	body, known := s[r.URL.Path]
	resp := httptest.NewRecorder()
	if !known {
		resp.WriteHeader(http.StatusNotFound)
	}
	_, _ = resp.WriteString(body)
	return resp.Result(), nil
}

func TestASlowServerTellsAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: slowly{"/health": "", "/v1/models": `{"data":[{"id":"m"}]}`, "/props": `{"total_slots":6}`, "/metrics": "llamacpp:requests_processing 2\n"}}
		p, err := newProber(&ProbedProvider{ID: "p", Type: "llamacpp", BaseURL: "http://10.0.0.7:8000"}, 2*time.Second, client)
		if err != nil {
			t.Fatal(err)
		}
		if a := p.probe(t.Context()); a.err != nil || a.load == nil || a.load.Running != 2 || a.slots != 6 || !equalStrings(a.models, "m") {
			t.Errorf("with 2 s for each it tells %+v", a)
		}
		p, err = newProber(&ProbedProvider{ID: "p", Type: "vllm", BaseURL: "http://10.0.0.7:8000"}, time.Second, client)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if a := p.probe(t.Context()); !errors.Is(a.err, backend.ErrTimeout) || time.Since(began) != time.Second {
			t.Errorf("with 1 s it tells %+v after %v", a, time.Since(began))
		}
	})
}
