package edge

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"iop/edge/backend"
)

func TestProviderState(t *testing.T) {
	spec := &ProbedProvider{ID: "p", Type: "vllm", Capacity: 4, LongContextCapacity: 1}
	told := func(running, waiting uint32) answer {
		return answer{load: &backend.Load{Running: running, Waiting: waiting}, at: time.Unix(1, 0), models: []string{"m"}, slots: 9}
	}
	mute := answer{models: []string{"m"}, slots: 9, loadErr: backend.ErrTimeout}
	silent := answer{load: &backend.Load{}, models: []string{"m"}, slots: 9}
	fail := answer{err: backend.ErrTimeout}
	gone := Provider{ID: "p", Type: "vllm", Status: Unavailable, Health: Offline}
	up := func(s Status, running, waiting uint32) Provider {
		return Provider{ID: "p", Type: "vllm", Models: []string{"m"}, Status: s, Health: Online,
			General: Counters{4, running, waiting}, LongContext: Counters{Capacity: 1}}
	}
	for name, c := range map[string]struct {
		answers []answer
		want    Provider
		doubted bool
	}{
		"never asked":                {nil, gone, false},
		"never answered":             {[]answer{fail}, gone, false},
		"answers":                    {[]answer{told(1, 0)}, up(Available, 1, 0), false},
		"answers at last":            {[]answer{fail, fail, told(1, 0)}, up(Available, 1, 0), false},
		"just under its capacity":    {[]answer{told(3, 5)}, up(Available, 3, 5), false},
		"at its capacity":            {[]answer{told(4, 0)}, up(Busy, 4, 0), false},
		"over its capacity":          {[]answer{told(7, 2)}, up(Busy, 7, 2), false},
		"has room again":             {[]answer{told(4, 0), told(0, 0)}, up(Available, 0, 0), false},
		"one answer lost":            {[]answer{told(2, 1), fail}, up(Available, 2, 1), true},
		"one answer lost and found":  {[]answer{told(2, 1), fail, told(0, 0)}, up(Available, 0, 0), false},
		"two answers lost":           {[]answer{told(2, 1), fail, fail}, gone, false},
		"one lost, twice apart":      {[]answer{told(2, 1), fail, told(1, 1), fail}, up(Available, 1, 1), true},
		"back":                       {[]answer{told(2, 1), fail, fail, told(0, 0)}, up(Available, 0, 0), false},
		"back, but tells no numbers": {[]answer{told(2, 1), fail, fail, mute}, up("", 0, 0), false},
		"one load lost":              {[]answer{told(2, 1), mute}, up(Available, 2, 1), false},
		"one load lost and found":    {[]answer{told(2, 1), mute, told(3, 0), mute}, up(Available, 3, 0), false},
		"one load lost while busy":   {[]answer{told(4, 1), mute}, up(Busy, 4, 1), false},
		"two loads lost":             {[]answer{told(2, 1), mute, mute}, up("", 2, 1), false},
		"two loads lost while busy":  {[]answer{told(4, 1), mute, mute}, up("", 4, 1), false},
		"many loads lost, one found": {[]answer{told(2, 1), mute, mute, mute, told(1, 0)}, up(Available, 1, 0), false},
		"never tells its load":       {[]answer{mute}, up("", 0, 0), false},
		"never tells it for long":    {[]answer{mute, mute}, up("", 0, 0), false},
		"exports no load":            {[]answer{silent, silent}, up(Available, 0, 0), false},
	} {
		var s providerState
		for _, a := range c.answers {
			s.take(a, time.Now())
		}
		if got := s.view(spec); !equalProvider(got, c.want) || s.doubted != c.doubted {
			t.Errorf("%s: %+v, doubted %v; want %+v, %v", name, got, s.doubted, c.want, c.doubted)
		}
	}
}

func TestProviderView(t *testing.T) {
	s := providerState{asked: true, online: true, models: []string{"asked"}, slots: 3, load: backend.Load{Running: 3}}
	unset := s.view(&ProbedProvider{ID: "p"})
	if unset.General.Capacity != 3 || unset.Status != Busy || unset.Models[0] != "asked" {
		t.Errorf("what isn't configured is %+v", unset)
	}
	set := s.view(&ProbedProvider{ID: "p", Models: []string{"set"}, Capacity: 8})
	if set.General.Capacity != 8 || set.Status != Available || set.Models[0] != "set" {
		t.Errorf("what is configured is %+v", set)
	}
	s.slots = 0
	if v := s.view(&ProbedProvider{ID: "p"}); v.Status != Available || v.General.Capacity != 0 {
		t.Errorf("a capacity that isn't known makes it %+v", v)
	}
	if v := new(providerState).view(&ProbedProvider{ID: "p", Models: []string{"set"}, Capacity: 8}); v.Models[0] != "set" || v.General != (Counters{}) {
		t.Errorf("offline it is %+v", v)
	}
}

func TestNextProbe(t *testing.T) {
	const interval = 10 * time.Second
	for name, c := range map[string]struct {
		doubted bool
		ago     time.Duration
		chance  float64
		want    time.Duration
	}{
		"an interval":              {false, 0, 0, interval},
		"less by chance":           {false, 0, 1, 9 * time.Second},
		"counted from its begin":   {false, 2 * time.Second, 0, 8 * time.Second},
		"overdue":                  {false, time.Minute, 0, 0},
		"doubted":                  {true, 0, 1, 5 * time.Second},
		"doubted after a time-out": {true, 2 * time.Second, 0, 3 * time.Second},
		"doubted and overdue":      {true, 7 * time.Second, 0, 0},
	} {
		s := providerState{doubted: c.doubted}
		if got := s.nextProbe(interval, c.ago, c.chance); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A load is as old as the question that it answers, and a provider that exports none has none.
func TestALoadHasItsTime(t *testing.T) {
	spec := &ProbedProvider{ID: "p", Type: "vllm"}
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	told := func(n int64) answer { return answer{load: &backend.Load{Exported: true}, at: at(n)} }
	for name, c := range map[string]struct {
		answers []answer
		want    time.Time
	}{
		"told":                {[]answer{told(1), told(2)}, at(2)},
		"lost":                {[]answer{told(1), {at: at(2)}, {at: at(3)}}, at(1)},
		"lost from the start": {[]answer{{at: at(1)}}, time.Time{}},
		"offline":             {[]answer{told(1), {err: backend.ErrTimeout}, {err: backend.ErrTimeout}}, time.Time{}},
		"exports none":        {[]answer{{load: &backend.Load{}, at: at(1)}}, time.Time{}},
	} {
		var s providerState
		for _, a := range c.answers {
			s.take(a, time.Now())
		}
		if got := s.view(spec).LoadAt; !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Probes of different providers that are due about the same time are made at the same time, and never later than due.
func TestOnSharedTick(t *testing.T) {
	const interval = 5 * time.Second
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ now, due, want time.Duration }{
		{0, 5 * time.Second, 5 * time.Second},
		{0, 5*time.Second - 1, 4750 * time.Millisecond},
		{100 * time.Millisecond, 4700 * time.Millisecond, 4650 * time.Millisecond},
		{200 * time.Millisecond, 4600 * time.Millisecond, 4550 * time.Millisecond},
		{10 * time.Millisecond, 100 * time.Millisecond, 0},
		{10 * time.Millisecond, 0, 0},
	} {
		if got := onSharedTick(c.due, interval, noon.Add(c.now)); got != c.want {
			t.Errorf("at %v, due in %v: in %v, want %v", c.now, c.due, got, c.want)
		}
	}
	if got := onSharedTick(5, 10, noon); got != 5 {
		t.Errorf("of an interval without ticks: %v", got)
	}
}

// scripted is a ProbedSite whose providers answer what a test says.
type scripted struct {
	*ProbedSite
	mu      sync.Mutex
	answers map[string]func(context.Context) answer
	asked   map[string]int
	changes atomic.Int32
}

func scriptedSite(t *testing.T, nodes ...ProbedNode) *scripted {
	t.Helper()
	site, err := NewProbedSite(ProbeOptions{Nodes: nodes, Interval: 10 * time.Second, Timeout: 2 * time.Second, Logger: quietLog})
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{ProbedSite: site, answers: map[string]func(context.Context) answer{}, asked: map[string]int{}}
	for _, p := range site.probes {
		id := p.spec.ID
		p.ask = func(ctx context.Context) answer {
			s.mu.Lock()
			s.asked[id]++
			f := s.answers[id]
			s.mu.Unlock()
			return f(ctx)
		}
	}
	return s
}

func (s *scripted) set(id string, f func(context.Context) answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[id] = f
}

func answers(running uint32) func(context.Context) answer {
	return func(context.Context) answer {
		return answer{load: &backend.Load{Running: running}, models: []string{"m"}}
	}
}

func refuses(context.Context) answer { return answer{err: backend.ErrRefused} }

func hangs(ctx context.Context) answer {
	select {
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
	}
	return answer{err: backend.ErrTimeout}
}

func (s *scripted) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.Run(ctx, func() { s.changes.Add(1) })
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
}

// pass lets time pass, and what is due then be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func probed(id string, providers ...string) ProbedNode {
	n := ProbedNode{ID: id, Name: "name of " + id, Labels: map[string]string{"k": "v"}}
	for _, p := range providers {
		n.Providers = append(n.Providers, ProbedProvider{ID: p, Type: "vllm", BaseURL: "http://10.0.0.7:8000", Capacity: 4})
	}
	return n
}

func TestANodeIsConnectedWhileOneProviderAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a", "b"), probed("empty"))
		s.set("a", answers(1))
		s.set("b", refuses)
		s.start(t)
		check := func(when string, connected bool, a, b Health) {
			t.Helper()
			nodes := s.Nodes()
			n := nodes[0]
			if n.Connected != connected || n.Providers[0].Health != a || n.Providers[1].Health != b || n.Name != "name of gpu-1" || n.Labels["k"] != "v" {
				t.Errorf("%s: %+v", when, n)
			}
			if nodes[1].Connected || nodes[1].ID != "empty" {
				t.Errorf("a node without providers is %+v", nodes[1])
			}
		}
		check("at the start", true, Online, Offline)
		s.set("a", refuses)
		pass(10 * time.Second)
		check("after one failure", true, Online, Offline)
		pass(5 * time.Second)
		check("after the second, within the interval", false, Offline, Offline)
		s.set("b", answers(0))
		pass(10 * time.Second)
		check("when the other comes", true, Offline, Online)
	})
}

func TestProbesKeepTheirPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"))
		s.set("a", answers(1))
		s.start(t)
		pass(1000 * time.Second)
		if n := s.asked["a"]; n < 100 || n > 112 {
			t.Errorf("asked %d times in 100 intervals", n)
		}
		if n := s.changes.Load(); n != 1 {
			t.Errorf("%d changes of what stays the same", n)
		}
	})
}

func TestNothingIsToldBeforeAllWereAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"), probed("gpu-2", "b"))
		s.set("a", answers(1))
		s.set("b", hangs)
		s.start(t)
		if s.changes.Load() != 0 {
			t.Error("told while a provider was not asked yet")
		}
		pass(2 * time.Second)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times when all were asked", s.changes.Load())
		}
		s.set("a", answers(2))
		pass(10 * time.Second)
		if s.changes.Load() != 2 {
			t.Errorf("told %d times after a change", s.changes.Load())
		}
	})
}

func TestAProviderThatHangsAtTheStartHidesNothingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"), probed("gpu-2", "b"))
		s.set("a", answers(1))
		s.set("b", func(ctx context.Context) answer { <-ctx.Done(); return answer{err: backend.ErrTimeout} })
		s.start(t)
		s.set("a", answers(2))
		pass(10 * time.Second)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times", s.changes.Load())
		}
	})
}

// TestNewsBeforeTheQuietTimeIsOverIsToldAfterIt: whether or not anything changes then.
func TestNewsBeforeTheQuietTimeIsOverIsToldAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scriptedSite(t, probed("gpu-1", "a"), probed("gpu-2", "b"))
		s.set("a", answers(1))
		s.set("b", func(ctx context.Context) answer { <-ctx.Done(); return answer{err: backend.ErrTimeout} })
		s.start(t)
		if s.changes.Load() != 0 {
			t.Error("told while a provider was not asked yet")
		}
		pass(10 * time.Second)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times", s.changes.Load())
		}
		pass(time.Minute)
		if s.changes.Load() != 1 {
			t.Errorf("told %d times of what stays the same", s.changes.Load())
		}
	})
}

// A load that can't be read any more is seen and logged once, and so is its return; one that is only newer is no news.
func TestALoadThatCantBeReadIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := scriptedSite(t, probed("gpu-1", "a")), &syncBuffer{}
		s.log = slog.New(slog.NewTextHandler(log, nil))
		s.set("a", func(context.Context) answer {
			return answer{load: &backend.Load{Running: 1, Exported: true}, at: time.Now()}
		})
		s.start(t)
		begun := s.Nodes()[0].Providers[0].LoadAt
		pass(10 * time.Second)
		if p := s.Nodes()[0].Providers[0]; !p.LoadAt.After(begun) || s.changes.Load() != 1 {
			t.Errorf("told again it is %+v, told %d times", p, s.changes.Load())
		}
		s.set("a", func(context.Context) answer { return answer{loadErr: backend.StatusError(500)} })
		pass(time.Minute)
		p := s.Nodes()[0].Providers[0]
		if p.Status != "" || p.Health != Online || p.General != (Counters{4, 1, 0}) || s.changes.Load() != 2 {
			t.Errorf("mute it is %+v, told %d times", p, s.changes.Load())
		}
		if n := strings.Count(log.String(), "what runs there can't be read"); n != 1 || !strings.Contains(log.String(), "status 500") {
			t.Errorf("it is logged %d times:\n%s", n, log)
		}
		s.set("a", answers(2))
		pass(time.Minute)
		if p := s.Nodes()[0].Providers[0]; p.Status != Available || strings.Count(log.String(), "A provider is online.") != 2 {
			t.Errorf("back it is %+v, and the log says\n%s", p, log)
		}
	})
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

func TestSiteOptionsAreChecked(t *testing.T) {
	_, err := NewProbedSite(ProbeOptions{Nodes: []ProbedNode{
		probed("a", "p", "p"), probed("a"), probed(""),
		{ID: "b", Providers: []ProbedProvider{{ID: "x", Type: "vllm", BaseURL: "10.0.0.7:8000"}, {ID: "y", Type: "none", BaseURL: "http://10.0.0.7"}, {BaseURL: "http://h", Type: "tgi"}}},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d problems: %v", n, err)
	}
	if strings.Contains(err.Error(), "10.0.0.7") {
		t.Errorf("an address is told: %v", err)
	}
}

// fakeServer is an engine over real HTTP, whose life a test decides.
type fakeServer struct {
	alive   atomic.Bool
	metrics atomic.Int32 // status
	running atomic.Int32
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
	case r.URL.Path == "/props":
		_, _ = w.Write([]byte(`{"total_slots":6}`))
	case r.URL.Path == "/metrics" && f.metrics.Load() != 200:
		w.WriteHeader(int(f.metrics.Load()))
	case r.URL.Path == "/metrics":
		_, _ = w.Write([]byte("llamacpp:requests_processing " + string('0'+rune(f.running.Load())) + "\n"))
	}
}

func TestProberOverHTTP(t *testing.T) {
	f := &fakeServer{}
	f.alive.Store(true)
	f.metrics.Store(200)
	f.running.Store(2)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := newHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	p, err := newProber(&ProbedProvider{ID: "p", Type: "llamacpp", BaseURL: server.URL}, time.Minute, client)
	if err != nil {
		t.Fatal(err)
	}
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
	if a := p.probe(t.Context()); a.err == nil {
		t.Errorf("dead it is %+v", a)
	}
	f.alive.Store(true)
	p.probe(t.Context())
	if n := f.models.Load(); n != 2 {
		t.Errorf("after its return models were asked %d times", n)
	}
	configured, err := newProber(&ProbedProvider{ID: "p", Type: "llamacpp", BaseURL: server.URL, Models: []string{"x"}, Capacity: math.MaxUint32}, time.Minute, client)
	if err != nil {
		t.Fatal(err)
	}
	if a := configured.probe(t.Context()); a.models != nil || a.slots != 0 || f.models.Load() != 2 {
		t.Errorf("what is configured is asked: %+v", a)
	}
}

// An answer that is no list of models leaves the old one standing, and is asked for again at the next probe.
func TestAnAnswerThatIsNoListEmptiesNothing(t *testing.T) {
	f := &fakeServer{}
	f.alive.Store(true)
	f.metrics.Store(200)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := newHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	p, err := newProber(&ProbedProvider{ID: "p", Type: "llamacpp", BaseURL: server.URL}, time.Minute, client)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ list, want string }{
		{`{"data":[{"id":"m-small"}]}`, "m-small"}, {`{"error":"busy"}`, "m-small"}, {`{}`, "m-small"}, {`{"data":[{"id":"m-new"}]}`, "m-new"},
	} {
		f.lists.Store(&c.list)
		if i == 1 {
			p.told = time.Time{} // a minute has passed
		}
		if a := p.probe(t.Context()); a.err != nil || !equalStrings(a.models, c.want) {
			t.Errorf("%s: %+v", c.list, a)
		}
	}
	if n := f.models.Load(); n != 4 {
		t.Errorf("models were asked %d times", n)
	}
}
