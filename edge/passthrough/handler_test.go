package passthrough

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"iop/edge/lease"
	"iop/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// way through: a caller, the Edge, and an engine over real HTTP.
type site struct {
	t       *testing.T
	pool    *lease.Pool
	handler *Handler
	url     string // of the Edge
	engine  *httptest.Server
	log     bytes.Buffer
}

var key = lease.Key{Node: "gpu-1", Provider: "vllm-0"}

func newSite(t *testing.T, o Options, engine http.HandlerFunc, specs ...lease.Provider) *site {
	t.Helper()
	return newSiteAt(t, "/base", o, engine, specs...)
}

func newSiteAt(t *testing.T, path string, o Options, engine http.HandlerFunc, specs ...lease.Provider) *site {
	t.Helper()
	s := &site{t: t, pool: lease.New(lease.Options{Queue: 1}), engine: httptest.NewServer(engine)}
	t.Cleanup(s.engine.Close)
	if specs == nil {
		specs = []lease.Provider{{Key: key, Models: []string{"m"}, General: 1}}
	}
	s.pool.Set([]string{key.Node}, specs)
	base, err := url.Parse(s.engine.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	o.Pool, o.Target = s.pool, func(lease.Key) *url.URL { return base }
	o.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	s.handler = New(o)
	front := httptest.NewServer(s.handler)
	t.Cleanup(func() { front.Close(); s.handler.Close() })
	s.url = front.URL
	return s
}

func (s *site) post(path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close(); http.DefaultClient.CloseIdleConnections() })
	return resp
}

// says reads an error in OpenAI's shape.
func (s *site) says(resp *http.Response) (status int, code string) {
	s.t.Helper()
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if json.Unmarshal(text, &e) != nil || e.Error.Message == "" || e.Error.Type == "" || resp.Header.Get("Content-Type") != "application/json" {
		s.t.Errorf("%s is no error in OpenAI's shape", text)
	}
	return resp.StatusCode, e.Error.Code
}

func (s *site) idle() {
	s.t.Helper()
	testkit.Eventually(s.t, "the lease is released", func() bool { return s.pool.Loads()[key] == lease.Load{} })
}

func TestTheAddressOfAProviderMayHaveAPath(t *testing.T) {
	for path, want := range map[string]string{"": "/v1/completions", "/": "/v1/completions", "/a": "/a/v1/completions", "/a/": "/a/v1/completions"} {
		s := newSiteAt(t, path, Options{}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
		if text, err := io.ReadAll(s.post("/v1/completions", ask).Body); err != nil || string(text) != want {
			t.Errorf("at %q the engine is asked for %q, %v", path, text, err)
		}
	}
}

const ask = `{"model":"m","stream":true}`

func TestARequestIsProxiedUnderALease(t *testing.T) {
	worked := make(chan lease.Key, 1)
	var s *site
	s = newSite(t, Options{Token: "s3cret", Worked: func(k lease.Key) { worked <- k }}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.String() != "/base/v1/chat/completions" || string(body) != ask || r.ContentLength != int64(len(ask)) || r.Method != http.MethodPost {
			t.Errorf("the engine gets %s %s with %s", r.Method, r.URL, body)
		}
		for _, name := range []string{"Authorization", "Cookie", "X-Forwarded-For", "Upgrade"} {
			if r.Header.Get(name) != "" {
				t.Errorf("the engine is told %s: %s", name, r.Header.Get(name))
			}
		}
		if s.pool.Loads()[key].InFlight != 1 {
			t.Error("it runs without a lease")
		}
		w.Header().Set("Server", "uvicorn")
		w.Header().Set("X-Model", "m")
		_, _ = io.WriteString(w, "hello")
	})
	resp := s.post("/v1/chat/completions?x=1", ask, "Authorization", "Bearer s3cret", "Cookie", "c=1", "Upgrade", "h2c", "Connection", "Upgrade")
	text, err := io.ReadAll(resp.Body)
	if err != nil || string(text) != "hello" || resp.Header.Get("X-Model") != "m" || resp.Header.Get("Server") != "" || !strings.HasPrefix(resp.Header.Get("X-IOP-Lease"), "lease-") {
		t.Errorf("answered %q, %v, %v", text, resp.Header, err)
	}
	if k := <-worked; k != key {
		t.Errorf("%v worked", k)
	}
	s.idle()
}

func TestATokenStreamsWhenItComes(t *testing.T) {
	next := make(chan struct{})
	s := newSite(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	lines := bufio.NewReader(s.post("/v1/chat/completions", ask).Body)
	for i := range 3 { // each is read before the engine sends the next
		line, err := lines.ReadString('\n')
		if _, blank := lines.ReadString('\n'); err != nil || blank != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("read %q, %v", line, err)
		}
		if s.pool.Loads()[key].InFlight != 1 {
			t.Error("the lease ended before the answer")
		}
		next <- struct{}{}
	}
	s.idle()
}

// stuck is an engine that holds a request until its caller has gone.
func stuck(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestACallerThatHangsUpGivesItsCapacityBack(t *testing.T) {
	s := newSite(t, Options{}, stuck)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		testkit.Eventually(t, "it runs", func() bool { return s.pool.Loads()[key].InFlight == 1 })
		hangUp()
	}()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/completions", strings.NewReader(ask))
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("answered with %d", resp.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	s.idle()
}

func TestWhoeverEndsTheLeaseIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*lease.Pool)
		code string
	}{
		"an operator": {func(p *lease.Pool) { p.Cancel(p.Live()[0].ID) }, "cancelled"},
		"its node":    {func(p *lease.Pool) { p.Set(nil, nil) }, "provider_gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, Options{}, stuck)
			go func() {
				testkit.Eventually(t, "it runs", func() bool { return s.pool.Loads()[key].InFlight == 1 })
				c.end(s.pool)
			}()
			if status, code := s.says(s.post("/v1/completions", ask)); status != 503 || code != c.code {
				t.Errorf("answered %d %s", status, code)
			}
			s.idle()
		})
	}
}

func TestNoFreeCapacity(t *testing.T) {
	s := newSite(t, Options{QueueTimeout: 50 * time.Millisecond}, stuck)
	held, err := s.pool.Acquire(t.Context(), "m", false)
	if err != nil {
		t.Fatal(err)
	}
	resp := s.post("/v1/completions", ask)
	if status, code := s.says(resp); status != 503 || code != "queue_timeout" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("after its time it is told %d %s", status, code)
	}
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { _, _ = s.pool.Acquire(ctx, "m", false); close(gone) }()
	testkit.Eventually(t, "another waits", func() bool { return s.pool.Loads()[key].Queued == 1 })
	resp = s.post("/v1/completions", ask)
	if status, code := s.says(resp); status != 429 || code != "queue_full" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("when the queue is full it is told %d %s", status, code)
	}
	stop()
	<-gone
	s.pool.Drain("gpu-1")
	resp = s.post("/v1/completions", ask)
	if status, code := s.says(resp); status != 503 || code != "no_provider" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("when all are drained it is told %d %s", status, code)
	}
	held.Release()
	s.idle()
}

func TestRefusals(t *testing.T) {
	s := newSite(t, Options{Token: "s3cret", LongContextTokens: 100}, func(http.ResponseWriter, *http.Request) { t.Error("the engine is asked") })
	long := fmt.Sprintf(`{"model":"m","prompt":"%s"}`, strings.Repeat("x", 400))
	for name, c := range map[string]struct {
		path, body, token, origin string
		status                    int
		code                      string
	}{
		"no token":      {"/v1/completions", ask, "", "", 401, "invalid_api_key"},
		"a wrong token": {"/v1/completions", ask, "s3cre", "", 401, "invalid_api_key"},
		"another model": {"/v1/completions", `{"model":"x"}`, "s3cret", "", 404, "model_not_found"},
		"no model":      {"/v1/completions", `{}`, "s3cret", "", 400, "invalid_request"},
		"no JSON":       {"/v1/completions", `{"model":"m"`, "s3cret", "", 400, "invalid_request"},
		"another path":  {"/v1/embeddings", ask, "s3cret", "", 404, "unknown_url"},
		"the wrong way": {"/v1/models", ask, "s3cret", "", 404, "unknown_url"},
		"long":          {"/v1/completions", long, "s3cret", "", 400, "context_length_exceeded"},
		"too large":     {"/v1/completions", strings.Repeat("x", maxBodyBytes+1), "s3cret", "", 413, "request_too_large"},
		"a web page":    {"/v1/completions", ask, "s3cret", "https://evil.example", 403, "cross_origin"},
	} {
		t.Run(name, func(t *testing.T) {
			s := *s
			s.t = t
			resp := s.post(c.path, c.body, "Authorization", "Bearer "+c.token, "Origin", c.origin)
			if status, code := s.says(resp); status != c.status || code != c.code {
				t.Errorf("answered %d %s", status, code)
			}
		})
	}
	s.idle()
}

// A page whose name was made to lead to the loopback is of the same origin as the Edge, for a browser. Only its Host tells it.
func TestNoWebPageIsServed(t *testing.T) {
	const port = ":18081"
	type headers = http.Header
	sameOrigin := headers{"Sec-Fetch-Site": {"same-origin"}}
	for name, c := range map[string]struct {
		token, method, host string
		headers             headers
		status              int
	}{
		"loopback":                      {"", "POST", "127.0.0.1" + port, nil, 200},
		"loopback, version 6":           {"", "POST", "[::1]" + port, nil, 200},
		"localhost":                     {"", "POST", "localhost", nil, 200},
		"a page of the same origin":     {"", "POST", "localhost" + port, headers{"Origin": {"http://localhost" + port}}, 200},
		"another name":                  {"", "POST", "evil.example", sameOrigin, 403},
		"another name, to read":         {"", "GET", "evil.example", sameOrigin, 403},
		"another name on the same port": {"", "POST", "evil.example" + port, headers{"Origin": {"http://evil.example" + port}}, 403},
		"another name and a token":      {"s3cret", "POST", "edge.example", nil, 200},
		"two origins":                   {"", "POST", "localhost", headers{"Origin": {"http://localhost", "http://evil.example"}}, 403},
		"two origins and a token":       {"s3cret", "POST", "localhost", headers{"Origin": {"http://localhost", "http://evil.example"}}, 403},
		"two sites":                     {"", "POST", "localhost", headers{"Sec-Fetch-Site": {"same-origin", "cross-site"}}, 403},
		"another origin, to read":       {"", "GET", "localhost", headers{"Origin": {"http://evil.example"}}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, Options{Token: c.token}, func(http.ResponseWriter, *http.Request) {})
			path := "/v1/completions"
			if c.method == http.MethodGet {
				path = "/v1/models"
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, path, strings.NewReader(ask))
			r.Host = c.host
			if c.headers != nil {
				r.Header = c.headers.Clone()
			}
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			if w.Code != c.status || (c.status == 403) != strings.Contains(w.Body.String(), `"cross_origin"`) {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestAPathIsServedAsItIsWritten(t *testing.T) {
	s := newSite(t, Options{}, func(http.ResponseWriter, *http.Request) { t.Error("the engine is asked") })
	for _, asked := range []string{
		"POST //v1/chat/completions", "POST /v1//completions", "POST /v1/./completions", "POST /x/../v1/completions", "POST /v1/completions/",
		"POST /v1/%63ompletions", "POST /v1/chat%2Fcompletions", "POST /v1", "POST /", "PUT /v1/completions", "GET /v1/completions", "OPTIONS /v1/models",
	} {
		method, path, _ := strings.Cut(asked, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(ask))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if status, code := s.says(w.Result()); status != 404 || code != "unknown_url" {
			t.Errorf("%s is answered %d %s", asked, status, code)
		}
	}
}

func TestALongRequestTakesLongContextCapacity(t *testing.T) {
	var s *site
	s = newSite(t, Options{LongContextTokens: 100}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%d %d", s.pool.Loads()[key].InFlight, s.pool.Loads()[key].LongInFlight)
	}, lease.Provider{Key: key, Models: []string{"m"}, General: 1, LongContext: 1})
	for chars, want := range map[int]string{100: "1 0", 380: "1 0", 500: "0 1"} {
		text, err := io.ReadAll(s.post("/v1/completions", fmt.Sprintf(`{"model":"m","p":"%s"}`, strings.Repeat("x", chars))).Body)
		if err != nil || string(text) != want {
			t.Errorf("%d characters take %q, want %q", chars, text, want)
		}
	}
}

func TestAProviderThatFailsShowsNoAddress(t *testing.T) {
	for name, engine := range map[string]http.HandlerFunc{
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://10.0.0.7/secret", http.StatusTemporaryRedirect)
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"is gone":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, Options{Worked: func(lease.Key) { t.Error("it worked") }}, engine)
			if engine == nil {
				s.engine.Close()
			}
			resp := s.post("/v1/completions", ask)
			if resp.Header.Get("Location") != "" {
				t.Errorf("the caller is sent to %s", resp.Header.Get("Location"))
			}
			if status, code := s.says(resp); status != 502 || code != "provider_failed" {
				t.Errorf("answered %d %s", status, code)
			}
			s.idle()
			if address := strings.TrimPrefix(s.engine.URL, "http://"); strings.Contains(s.log.String(), address) || s.log.Len() == 0 {
				t.Errorf("the log says %s", s.log.String())
			}
		})
	}
}

// An address is as telling in an interim answer or after a body as it is in the headers.
func TestNoPartOfAnAnswerShowsTheProvidersAddress(t *testing.T) {
	const address = "http://10.0.0.7/secret"
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		s := newSite(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range revealing {
				w.Header().Set(name, address)
			}
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusProcessing)
			w.Header().Set("Trailer", "Location, X-Sum")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "hello")
			_ = http.NewResponseController(w).Flush()
			for _, name := range []string{"Location", "X-Sum", http.TrailerPrefix + "Link", http.TrailerPrefix + "X-Late"} {
				w.Header().Set(name, address)
			}
		})
		interim := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { interim++; return nil }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/completions", strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		if err != nil || string(body) != "hello" || resp.StatusCode != status || interim != 0 {
			t.Errorf("answered %d with %q after %d interim answers, %v", resp.StatusCode, body, interim, err)
		}
		for _, name := range revealing {
			if resp.Header.Get(name)+resp.Trailer.Get(name) != "" {
				t.Errorf("with %d the caller is told %s, and after the body %v", status, name, resp.Trailer)
			}
		}
		if resp.Trailer.Get("X-Sum") != address || resp.Trailer.Get("X-Late") != address {
			t.Errorf("after the body the caller is told %v", resp.Trailer)
		}
	}
}

func TestModels(t *testing.T) {
	s := newSite(t, Options{}, nil, lease.Provider{Key: key, Models: []string{"b", "a"}})
	resp, err := http.Get(s.url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	var list struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || list.Object != "list" || len(list.Data) != 2 || list.Data[0].ID != "a" {
		t.Errorf("listed %+v, %v", list, err)
	}
}

// An answer that an API gives without its engine is no sign that the engine works.
func TestOnlySuccessIsASignOfWork(t *testing.T) {
	for status, want := range map[int]int32{200: 1, 201: 1, 400: 0, 404: 0, 429: 0, 500: 0, 503: 0} {
		var worked atomic.Int32
		s := newSite(t, Options{Worked: func(lease.Key) { worked.Add(1) }}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "{}")
		})
		resp := s.post("/v1/completions", ask)
		_, _ = io.Copy(io.Discard, resp.Body)
		s.idle()
		if resp.StatusCode != status || worked.Load() != want {
			t.Errorf("%d is passed on as %d, and says %d times that it worked", status, resp.StatusCode, worked.Load())
		}
	}
}

// modelBodies are requests, and the models that they name.
var modelBodies = map[string]string{
	ask:                                     "m",
	`{"model":"other","MODEL":"m"}`:         "other",
	`{"MODEL":"m","model":"other"}`:         "other",
	`{"Model":"m"}`:                         "",
	`{"\u006dodel":"\u006d"}`:               "m",
	`{"model":"a","model":"b"}`:             "b",
	`{"model":"a","model":null}`:            "",
	`{"model":"a","model":["b"]}`:           "",
	`{"model":1,"model":"b"}`:               "b",
	`{"model":1}`:                           "",
	`{"x":{"model":"m"},"y":["model","m"]}`: "",
	` { "model" : "m" } `:                   "m",
	`{"prompt":"` + strings.Repeat("x", 2*maxModelJSONBytes) + `","model":"m"}`: "m",
	`{"model":"` + strings.Repeat("x", maxModelJSONBytes) + `"}`:                "",
	`{"model":"m"`:   "",
	`{"model":"m"}x`: "",
	`["model","m"]`:  "",
	`"model"`:        "",
	`null`:           "",
	"":               "",
	"\xff":           "",
}

func TestModelOf(t *testing.T) {
	for body, want := range modelBodies {
		if got := modelOf([]byte(body)); got != want {
			t.Errorf("%.80s names %q, want %q", body, got, want)
		}
	}
}

func TestModelOfCopiesNoBody(t *testing.T) {
	const size = 1 << 20
	for name, body := range map[string]string{
		"a long prompt": `{"prompt":"` + strings.Repeat("x", size) + `","model":"m"}`,
		"a long list":   `{"prompt":[` + strings.Repeat("1,", size/2) + `1],"model":"m"}`,
		"a long name":   `{"` + strings.Repeat("x", size) + `":1,"model":"m"}`,
		"many members":  `{` + strings.Repeat(`"a":"b",`, size/512) + `"model":"m"}`,
		"a long model":  `{"model":"` + strings.Repeat("x", size) + `","model":"m"}`,
	} {
		given := []byte(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		model := modelOf(given)
		runtime.ReadMemStats(&after)
		if cost := after.TotalAlloc - before.TotalAlloc; model != "m" || cost > size/8 {
			t.Errorf("%s: %q costs %d bytes", name, model, cost)
		}
	}
}

// FuzzModelOf has a decoder go through the body word by word, as a provider might.
func FuzzModelOf(f *testing.F) {
	for body := range modelBodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want := ""
		if words := json.NewDecoder(bytes.NewReader(body)); json.Valid(body) {
			words.UseNumber()
			for first, _ := words.Token(); first == json.Delim('{') && words.More(); {
				name, _ := words.Token()
				var value json.RawMessage
				_ = words.Decode(&value)
				if name == "model" {
					want = ""
					if len(value) <= maxModelJSONBytes {
						_ = json.Unmarshal(value, &want)
					}
				}
			}
		}
		if model := modelOf(body); model != want {
			t.Errorf("%q names %q, want %q", body, model, want)
		}
	})
}
