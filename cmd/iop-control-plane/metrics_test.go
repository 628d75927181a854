package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"iop/actors"
	"iop/configs"
	"iop/httpapi"
	"iop/internal/testkit"
	"iop/wire"
)

// meteredDaemon is all that registers metrics, with TLS, and used so that most of them have something to tell.
func meteredDaemon(t *testing.T) *prometheus.Registry {
	t.Helper()
	cfg, err := configs.LoadControlPlane(configs.Source{Dev: true, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	system := actors.NewSystem(systemOptions(cfg, zerolog.Nop()))
	t.Cleanup(system.Stop)
	dir := t.TempDir()
	cert, key := testkit.NewAuthority().Issue("localhost", "127.0.0.1")
	writeFile(t, dir+"/server.pem", cert)
	writeFile(t, dir+"/server.key", key)
	tls, err := wire.NewServerTLS(wire.TLSFiles{Cert: dir + "/server.pem", Key: dir + "/server.key"})
	if err != nil {
		t.Fatal(err)
	}
	registry := newMetrics(system, tls, newReloads(reloadConfig, reloadTLS), func() uint64 { return 0 })
	server := httpapi.New(httpapi.Options{Plane: system, Keys: system.Keys, Loopback: true, Registry: registry, Log: zerolog.Nop()})
	server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost/edges", nil))
	system.Metrics().EdgeWire.Read([]byte{34, 0}) // a Ping
	sub, fault := system.Subscribe(context.Background(), "")
	if fault != nil {
		t.Fatal(fault)
	}
	t.Cleanup(sub.Cancel)
	return registry
}

// described gives "name: label, label" of all that a registry may ever show.
func described(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	ch := make(chan *prometheus.Desc, 1000)
	registry.Describe(ch)
	close(ch)
	pattern := regexp.MustCompile(`^Desc\{fqName: "(iop_\w+)", .*, constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	all := map[string]string{}
	for d := range ch {
		m := pattern.FindStringSubmatch(d.String())
		if m == nil {
			if strings.Contains(d.String(), "iop_") {
				t.Fatalf("can't be read: %s", d)
			}
			continue
		}
		labels := slices.DeleteFunc(strings.Split(regexp.MustCompile(`="[^"]*"`).ReplaceAllString(m[2], "")+","+m[3], ","), func(l string) bool { return l == "" })
		slices.Sort(labels)
		all[m[1]] = strings.Join(labels, ", ")
	}
	return all
}

// documented reads the table: the same, and the type.
func documented(t *testing.T) (labels, types map[string]string) {
	t.Helper()
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	labels, types = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(guide)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name := strings.Trim(strings.TrimSpace(cells[0]), "`")
		if !strings.HasPrefix(line, "| `iop_") || len(cells) != 5 {
			continue
		}
		words := slices.DeleteFunc(strings.Split(strings.NewReplacer("`", "", " ", "").Replace(cells[2]), ","), func(l string) bool { return l == "" })
		slices.Sort(words)
		labels[name], types[name] = strings.Join(words, ", "), strings.TrimSpace(cells[1])
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s: the guide doesn't say what it is", name)
		}
	}
	return labels, types
}

// The operations guide has every metric, with its labels and its type, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	registry := meteredDaemon(t)
	real := described(t, registry)
	labels, types := documented(t)
	for name, want := range real {
		if got, ok := labels[name]; !ok || got != want {
			t.Errorf("%s has the labels %q; in the guide (%v): %q", name, want, ok, got)
		}
	}
	for name := range labels {
		if _, ok := real[name]; !ok {
			t.Errorf("the guide has %s, which is nowhere else", name)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "iop_") {
			seen++
			if want := strings.ToLower(f.GetType().String()); types[f.GetName()] != want {
				t.Errorf("%s is a %s; in the guide: %q", f.GetName(), want, types[f.GetName()])
			}
		}
	}
	if seen != len(real) {
		t.Errorf("only %d of %d have something to tell here, so that the types of the others aren't checked", seen, len(real))
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestReloads(t *testing.T) { synctest.Test(t, testReloads) }

func testReloads(t *testing.T) {
	r := newReloads(reloadConfig)
	began := r.seen[reloadConfig].lastSuccess
	broken := errors.New("broken")
	if err := r.done(reloadConfig, broken); !errors.Is(err, broken) {
		t.Errorf("gave %v back", err)
	}
	want := `
# HELP iop_reload_last_successful Whether the last reload succeeded (1); 0: what was in force before still is.
# TYPE iop_reload_last_successful gauge
iop_reload_last_successful{what="config"} 0
# HELP iop_reloads_total Reloads since the start: config is SIGHUP (auth, log level, TLS files), tls the TLS files when they change.
# TYPE iop_reloads_total counter
iop_reloads_total{result="failure",what="config"} 1
iop_reloads_total{result="success",what="config"} 0
`
	if err := testutil.CollectAndCompare(reloadMetrics{r}, strings.NewReader(want), "iop_reloads_total", "iop_reload_last_successful"); err != nil {
		t.Error(err)
	}
	if at := r.seen[reloadConfig].lastSuccess; at != began {
		t.Errorf("a failure moved the last success to %v", at)
	}
	time.Sleep(time.Second)
	_ = r.done(reloadConfig, nil)
	if of := r.seen[reloadConfig]; of.succeeded != 1 || of.lastFailed || !of.lastSuccess.After(began) {
		t.Errorf("after a success: %+v", *of)
	}
}
