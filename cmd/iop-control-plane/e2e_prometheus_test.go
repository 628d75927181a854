package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

const (
	rulesFile     = "../../deploy/prometheus/iop.rules.yaml"
	rulesTestFile = "../../deploy/prometheus/iop.rules.test.yaml"
	dashboardFile = "../../deploy/grafana/iop-control-plane.json"
)

// TestPrometheus: a real one scrapes a real daemon, with a viewer's token, and takes the rules and every query of the dashboard;
// what these ask for is there. A second daemon has TLS, and so a certificate.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	program := testkit.Tool(t, "prometheus")
	d := startDaemon(t, fmt.Sprintf("auth:\n  operators: [{name: p, role: viewer, token_sha256: %s}]\n  edges: [{edge_id: \"*\", token_sha256: %s}]\n",
		hashOf("viewer-token"), hashOf("edge-token")))
	for _, id := range []string{"e1", "e2"} {
		d.connect(&iopv1.EdgeHelloRequest{EdgeId: id, Token: "edge-token"})
	}
	if _, m := d.sayHello(&iopv1.EdgeHelloRequest{EdgeId: "e3", Token: "wrong"}); m.GetError() == nil {
		t.Fatalf("a wrong token: %v", m)
	}
	viewer := []string{"Authorization", "Bearer viewer-token"}
	d.get("/edges/nobody", viewer...).isProblem(404, "edge_not_found")
	d.stream("/fleet/events", viewer...) // a live reader has a backlog
	servers := testkit.NewAuthority()
	prometheus := startPrometheus(t, program, d, startTLSDaemon(t, servers, servers, tlsConfig), servers)
	testkit.Eventually(t, "both daemons are up", func() bool {
		return at(prometheus.query(`sum(up)`).json, "data.result.0.value.1") == "2"
	})
	for query, want := range map[string]string{
		`up{job="iop-control-plane"}`: "1", `iop_edges_connected{job="iop-control-plane"}`: "2", `iop_hello_refusals_total{job="iop-control-plane", code="unauthenticated"}`: "1",
		`process_start_time_seconds > 1e9 and process_max_fds > 0`: "",
	} {
		testkit.Eventually(t, query+" is "+want, func() bool {
			got := fmt.Sprint(at(prometheus.query(query).json, "data.result.0.value.1"))
			return got == want || want == "" && got != "<nil>"
		})
	}
	testkit.Eventually(t, "every rule was evaluated", func() bool {
		rules := prometheus.get("/api/v1/rules").is(200).list("data.groups.0.rules")
		return len(rules) == len(alertsIn(t, rulesFile)) && !slices.ContainsFunc(rules, func(r any) bool { return at(r, "health") != "ok" })
	})
	for _, rule := range prometheus.get("/api/v1/rules").list("data.groups.0.rules") {
		prometheus.findsAll(at(rule, "query").(string))
	}
	for _, query := range dashboardQueries(t) {
		query = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(query)
		prometheus.query(query).is(200, "status", "success")
		prometheus.findsAll(query)
	}
}

// selectors are what queries pick series by: a name, and labels or none.
var selectors = regexp.MustCompile(`\b(up|(iop|process|go)_\w+)\b(\{[^}]*\})?`)

// unseen is what nothing from outside brings about, and a sibling that must be there: the label is one that the daemon has.
var unseen = strings.NewReplacer(`status="500"`, `status="404"`)

// findsAll wants a series for every selector of a query, labels included: an alert on what isn't there never goes off.
func (d *testDaemon) findsAll(query string) {
	d.t.Helper()
	for _, selector := range selectors.FindAllString(query, -1) {
		testkit.Eventually(d.t, "there is a series "+selector+" of "+query, func() bool {
			return len(d.query(unseen.Replace(selector)).list("data.result")) > 0
		})
	}
}

// startPrometheus runs deploy/prometheus/prometheus.yaml, quicker, and with these daemons. What it gives asks Prometheus.
func startPrometheus(t *testing.T, program string, d, withTLS *testDaemon, servers *testkit.Authority) *testDaemon {
	t.Helper()
	dir, address := t.TempDir(), testkit.FreeAddress(t)
	writeFile(t, dir+"/iop.token", []byte("viewer-token\n"))
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	config := changed(t, "../../deploy/prometheus/prometheus.yaml", strings.NewReplacer("$DIR", dir, "$RULES", rules, "$DAEMON_HTTP", d.http), []string{
		"interval: 15s", "interval: 1s", "/etc/prometheus/iop.rules.yaml", "$RULES", "/etc/prometheus/iop.token", "$DIR/iop.token", "127.0.0.1:18080", "$DAEMON_HTTP",
	})
	config += fmt.Sprintf("  - job_name: with-tls\n    scheme: https\n    tls_config: {ca_file: %s/ca.pem}\n    static_configs: [{targets: [%q]}]\n", dir, withTLS.http)
	writeFile(t, dir+"/ca.pem", servers.PEM)
	writeFile(t, dir+"/prometheus.yaml", []byte(config))
	runBeside(t, exec.Command(program, "--config.file="+dir+"/prometheus.yaml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+address))
	prometheus := &testDaemon{t: t, http: address, scheme: "http", client: httpClient}
	testkit.Eventually(t, "Prometheus is ready", func() bool {
		a, err := prometheus.try("GET", "/-/ready", "")
		return err == nil && a.status == 200
	})
	return prometheus
}

func (d *testDaemon) query(promQL string) answer {
	d.t.Helper()
	return d.get("/api/v1/query?query=" + url.QueryEscape(promQL))
}

func TestRules(t *testing.T) {
	t.Parallel()
	tests, err := os.ReadFile(rulesTestFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alertsIn(t, rulesFile) {
		if !regexp.MustCompile(`alertname: ` + name + `\n\s+exp_alerts:`).Match(tests) {
			t.Errorf("%s has no test in which it goes off", name)
		}
	}
	if said, err := exec.Command(testkit.Tool(t, "promtool"), "test", "rules", rulesTestFile).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

func alertsIn(t *testing.T, file string) (names []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllSubmatch(content, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) == 0 {
		t.Fatalf("%s has no alerts", file)
	}
	return names
}

// dashboardQueries are all "expr" of the dashboard, however deep.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	content, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard object
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard["panels"].([]any) {
		targets, _ := at(panel, "targets").([]any)
		for _, target := range targets {
			queries = append(queries, at(target, "expr").(string))
		}
	}
	if len(queries) == 0 {
		t.Fatal("the dashboard asks for nothing")
	}
	return queries
}

// TestNamesInRulesAndDashboard: what they ask for is a metric that the daemon has.
func TestNamesInRulesAndDashboard(t *testing.T) {
	registry := meteredDaemon(t)
	known := map[string]bool{}
	for name := range described(t, registry) {
		known[name] = true
	}
	families, err := registry.Gather() // the process's and Go's
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		known[f.GetName()] = true
	}
	for _, file := range []string{rulesFile, rulesTestFile, dashboardFile} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\b(iop|process|go)_\w+`).FindAll(content, -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				name = bytes.TrimSuffix(name, []byte(part))
			}
			if !known[string(name)] {
				t.Errorf("%s: the daemon has no %s", file, name)
			}
		}
	}
}
