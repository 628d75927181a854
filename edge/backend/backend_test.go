package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving is a backend that answers these paths and nothing else.
func serving(t *testing.T, kind string, answers map[string]string) *Backend {
	t.Helper()
	return backendOf(t, kind, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
}

func backendOf(t *testing.T, kind string, h http.Handler) *Backend {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	b, err := New(kind, server.URL, client)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEachKindIsAskedItsOwnWay(t *testing.T) {
	list := recorded(t, "vllm-models.json")
	ours := []string{"m-small", "m-alias", "lora-a"}
	for _, c := range []struct {
		kind    string
		answers map[string]string
		models  []string
		load    Load
		slots   uint32
	}{
		{"vllm", map[string]string{"/health": "", "/v1/models": list, "/metrics": recorded(t, "vllm-busy.metrics")}, ours, Load{Running: 2, Exported: true}, 0},
		{"vllm", map[string]string{"/health": "", "/v1/models": list, "/metrics": recorded(t, "vllm-idle.metrics")}, ours, Load{Exported: true}, 0},
		{"vllm", map[string]string{"/health": "", "/v1/models": list}, ours, Load{}, 0},
		{"vllm", map[string]string{"/health": "", "/v1/models": list, "/metrics": "vllm:other 1\n"}, ours, Load{}, 0},
		{"sglang", map[string]string{"/health": "", "/v1/models": list,
			"/metrics": "# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{tp_rank=\"0\"} 3.0\nsglang:num_queue_reqs{tp_rank=\"0\"} 1\nsglang:generation_tokens_total 40\n"}, ours, Load{Running: 3, Waiting: 1, Work: 40, Exported: true}, 0},
		{"llamacpp", map[string]string{"/health": `{"status":"ok"}`, "/v1/models": list, "/props": `{"total_slots":4,"other":[1]}`,
			"/metrics": "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n"}, ours, Load{Running: 1, Waiting: 2, Exported: true}, 4},
		{"tgi", map[string]string{"/health": "", "/info": `{"model_id":"org/m","sha":"x"}`,
			"/metrics": "tgi_batch_current_size 5\ntgi_queue_size 7\n"}, []string{"org/m"}, Load{Running: 5, Waiting: 7, Exported: true}, 0},
		{"ollama", map[string]string{"/api/version": `{"version":"0"}`, "/api/tags": `{"models":[{"name":"a:1b"},{"name":"b"}]}`}, []string{"a:1b", "b"}, Load{}, 0},
		{"openai", map[string]string{"/v1/models": list}, ours, Load{}, 0},
	} {
		t.Run(c.kind, func(t *testing.T) {
			b := serving(t, c.kind, c.answers)
			if err := b.Alive(t.Context()); err != nil {
				t.Errorf("not alive: %v", err)
			}
			if got, err := b.Models(t.Context()); err != nil || !slices.Equal(got, c.models) {
				t.Errorf("models are %v, %v; want %v", got, err, c.models)
			}
			if got, err := b.Load(t.Context()); err != nil || got != c.load {
				t.Errorf("load is %v, %v; want %v", got, err, c.load)
			}
			if got, err := b.Slots(t.Context()); err != nil || got != c.slots {
				t.Errorf("slots are %v, %v; want %v", got, err, c.slots)
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	for _, bad := range []string{"", "127.0.0.1:8000", "ftp://h/", "http://", "http://h:x"} {
		if _, err := New("vllm", bad, http.DefaultClient); err == nil {
			t.Errorf("%q is taken for a base URL", bad)
		} else if bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q is told: %v", bad, err)
		}
	}
	if _, err := New("vLLM", "http://h", http.DefaultClient); err == nil {
		t.Error("an unknown kind is taken")
	}
	b := backendOf(t, "openai", http.StripPrefix("/deep", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
		}
	})))
	for _, path := range []string{"/deep", "/deep/"} {
		b.base.Path = path
		if err := b.Alive(t.Context()); err != nil {
			t.Errorf("base path %q: %v", path, err)
		}
	}
}

func TestWhatIsWrongIsAFixedSentence(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"loading":    {status(503), StatusError(503)},
		"forbidden":  {status(403), StatusError(403)},
		"no content": {status(204), StatusError(204)},
		"cut":        {cut, ErrUnreadable},
		"not JSON":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, ErrUnreadable},
		"wrong JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":7}`)) }, ErrUnreadable},
		"endless":    {endless, ErrTooLong},
		"hung up":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrUnreached},
		"to elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
		}, StatusError(307)},
		"in circles": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v1/models", http.StatusFound) }, StatusError(302)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := backendOf(t, "openai", c.handler).Models(t.Context())
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "http")) {
				t.Errorf("an address is told: %v", err)
			}
		})
	}
}

// A 200 that doesn't have what was asked for says nothing of it.
func TestAnAnswerWithoutItsListIsNoEmptyList(t *testing.T) {
	for _, c := range []struct {
		kind, body string
		models     []string // nil: it can't be read
	}{
		{"openai", `{}`, nil},
		{"openai", `{"error":{"message":"overloaded"}}`, nil},
		{"openai", `{"data":null}`, nil},
		{"openai", `{"data":[]}`, []string{}},
		{"vllm", `{"error":"x"}`, nil},
		{"sglang", `{}`, nil},
		{"llamacpp", `{}`, nil},
		{"ollama", `{}`, nil},
		{"ollama", `{"models":[]}`, []string{}},
		{"tgi", `{}`, nil},
		{"tgi", `{"error":"loading"}`, nil},
	} {
		b := backendOf(t, c.kind, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) }))
		models, err := b.Models(t.Context())
		if c.models == nil && !errors.Is(err, ErrUnreadable) || c.models != nil && (err != nil || !slices.Equal(models, c.models)) {
			t.Errorf("%s says %s: %q, %v", c.kind, c.body, models, err)
		}
		if slots, err := b.Slots(t.Context()); b.TellsSlots() && !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s says %s of its slots: %d, %v", c.kind, c.body, slots, err)
		}
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"data":[`))
	for {
		if _, err := w.Write([]byte(strings.Repeat(`{"id":"x"},`, 1000))); err != nil {
			return
		}
	}
}

func TestTimeoutAndRefusal(t *testing.T) {
	release := make(chan struct{})
	hangs := backendOf(t, "vllm", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := hangs.Alive(ctx); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v, want %v", err, ErrTimeout)
	}
	close(release)
	gone := httptest.NewServer(nil)
	gone.Close()
	b, err := New("vllm", gone.URL, &http.Client{Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Alive(t.Context()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want %v", err, ErrRefused)
	}
}

func TestACertificateThatIsntTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	b, err := New("vllm", server.URL, &http.Client{Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Alive(t.Context()); !errors.Is(err, ErrUntrusted) {
		t.Errorf("got %v, want %v", err, ErrUntrusted)
	}
}

func TestRedirectOnTheSameHostIsFollowed(t *testing.T) {
	b := backendOf(t, "vllm", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			http.Redirect(w, r, "/health/", http.StatusMovedPermanently)
		}
	}))
	if err := b.Alive(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMetricsThatAreSwitchedOff(t *testing.T) {
	for code, off := range map[int]bool{404: true, 501: true, 500: false, 503: false, 401: false} {
		b := backendOf(t, "llamacpp", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		load, loadErr := b.Load(t.Context())
		slots, slotsErr := b.Slots(t.Context())
		if (loadErr == nil) != off || (slotsErr == nil) != off || load != (Load{}) || slots != 0 {
			t.Errorf("status %d: %v %v, %v %v", code, load, loadErr, slots, slotsErr)
		}
	}
}

func TestSumMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want float64
		told bool
	}{
		"empty page":          {"", 0, false},
		"other names":         {"running_total 5\nnot_running 7\nrunning_x{} 1\n", 0, false},
		"one":                 {"running 3\n", 3, true},
		"no end of line":      {"running 3", 3, true},
		"series add up":       {"running{engine=\"0\"} 3\nrunning{engine=\"1\"} 4.0\n", 7, true},
		"with type and help":  {"# HELP running x\n# TYPE running gauge\nrunning{a=\"b\"} 2\n", 2, true},
		"a counter":           {"# TYPE running counter\nrunning 2\n", 2, true},
		"odd labels":          {"running{a=\"}\\n\\\"{\",b=\"\"} 2 1795968034000\n", 2, true},
		"NaN":                 {"running{a=\"1\"} NaN\nrunning{a=\"2\"} 2\n", 2, true},
		"negative":            {"running{a=\"1\"} -5\nrunning{a=\"2\"} 2\n", 2, true},
		"infinite":            {"running +Inf\n", math.Inf(1), true},
		"broken elsewhere":    {"#### }}}{{{\nother{ 5\nrunning 2\n\x00\xff\n", 2, true},
		"a long line between": {"x{a=\"" + strings.Repeat("y", 3*maxLineBytes) + "\"} 1\nrunning 2\n", 2, true},
		"idle":                {"running 0\n", 0, true},
		"NaN alone":           {"running NaN\n", 0, false},
		"a summary":           {"# TYPE running summary\nrunning{quantile=\"0.5\"} 2\n", 0, false},
		"a histogram's type":  {"# TYPE running histogram\nrunning_sum 2\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			sums, err := sumMetrics(strings.NewReader(c.page), "running", "waiting")
			_, told := sums["running"]
			if err != nil || sums["running"] != c.want || sums["waiting"] != 0 || told != c.told {
				t.Errorf("got %v, %v; want %v, told %v", sums, err, c.want, c.told)
			}
		})
	}
	for name, page := range map[string]string{
		"our line is broken":      "running{ 5\n",
		"our value is no number":  "running five\n",
		"too much of our own":     strings.Repeat("running{a=\"bbbbbbbbbbbbbbbbbbbbbb\"} 1\n", 1e4),
		"our type is said again":  "# TYPE running gauge\nrunning 1\n# TYPE running gauge\n",
		"our type isn't any type": "# TYPE running speed\nrunning 1\n",
	} {
		if sums, err := sumMetrics(strings.NewReader(page), "running"); err == nil {
			t.Errorf("%s: %v", name, sums)
		}
	}
}

func TestCount(t *testing.T) {
	for v, want := range map[float64]uint32{
		0: 0, -1: 0, math.Inf(-1): 0, 0.4: 0, 0.6: 1, 2: 2, 1e3: 1000, math.MaxUint32: math.MaxUint32, 1e300: math.MaxUint32, math.Inf(1): math.MaxUint32,
	} {
		if got := count(v); got != want {
			t.Errorf("count(%v) is %v, want %v", v, got, want)
		}
	}
	if got := count(math.NaN()); got != 0 {
		t.Errorf("count(NaN) is %v", got)
	}
}

func TestTidyIDs(t *testing.T) {
	many := make([]string, 0, 1000)
	for i := range 1000 {
		many = append(many, fmt.Sprint("m", i))
	}
	for name, c := range map[string]struct{ ids, want []string }{
		"nothing":       {nil, []string{}},
		"order is kept": {[]string{"b", "a"}, []string{"b", "a"}},
		"each once":     {[]string{"a", "b", "a"}, []string{"a", "b"}},
		"empty ones":    {[]string{"", " ", "a "}, []string{"a"}},
		"not UTF-8":     {[]string{"a\xff"}, []string{"a\uFFFD"}},
		"too long":      {[]string{strings.Repeat("x", 257), "a"}, []string{"a"}},
		"too many":      {many, many[:maxModels]},
	} {
		if got := tidyIDs(c.ids); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
