package configs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenListeners(t *testing.T) {
	const operators = "operators: [{name: a, role: viewer, token_sha256: " + hashA + "}]"
	const edges = "edges: [{edge_id: '*', token_sha256: " + hashA + "}]"
	tests := map[string]struct {
		yaml string
		open []string
	}{
		"built-in defaults":       {"", []string{"wire_listen", "edge_wire_listen"}},
		"all open":                {"server: {http_listen: ':1'}", []string{"http_listen", "wire_listen", "edge_wire_listen"}},
		"operators":               {"server: {http_listen: ':1'}\nauth: {" + operators + "}", []string{"edge_wire_listen"}},
		"edges":                   {"server: {http_listen: ':1'}\nauth: {" + edges + "}", []string{"http_listen", "wire_listen"}},
		"both":                    {"server: {http_listen: ':1'}\nauth: {" + edges + ", " + operators + "}", nil},
		"insecure":                {"insecure: true\nserver: {http_listen: ':1'}", nil},
		"loopback":                {"server: {wire_listen: '[::1]:1', edge_wire_listen: 'localhost:1'}", nil},
		"a host that isn't":       {"server: {wire_listen: 'cp.example:1', edge_wire_listen: '127.0.0.1:1'}", []string{"wire_listen"}},
		"a mistake in auth hides": {"auth: {operator: []}", []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := LoadControlPlane(Source{File: write(t, "c.yaml", tt.yaml)})
			if (err == nil) != (tt.open == nil) {
				t.Fatalf("error %v, want open %v", err, tt.open)
			}
			if err == nil {
				return
			}
			open := []string{}
			for _, p := range err.(Problems) {
				if strings.Contains(p.Text, "is open to other machines") {
					open = append(open, strings.TrimPrefix(p.Key, "server."))
					if lines := strings.Count(p.String(), "\n") + 1; lines != 3 {
						t.Errorf("%s has %d lines, want 3", p.Key, lines)
					}
				}
			}
			if diff := cmp.Diff(tt.open, open); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenListenerNamesItsPlace(t *testing.T) {
	file := write(t, "c.yaml", "server:\n  http_listen: :8080\n  wire_listen: 127.0.0.1:0\n")
	_, err := LoadControlPlane(Source{File: file, Env: env("IOP_EDGE_WIRE_LISTEN", "10.0.0.1:9")})
	want := []string{
		"c.yaml:2: server.http_listen: :8080 is open to other machines and asks for no token",
		`    to ask for one: set auth.operators ("iop-control-plane token" prints a token and its hash)`,
		"    or listen on loopback: server.http_listen: 127.0.0.1:8080; or leave it open on purpose: insecure: true",
		"IOP_EDGE_WIRE_LISTEN: server.edge_wire_listen: 10.0.0.1:9 is open to other machines and asks for no token",
		`    to ask for one: set auth.edges or tls.edge_client_ca_file ("iop-control-plane token" prints a token and its hash)`,
		"    or listen on loopback: server.edge_wire_listen: 127.0.0.1:9; or leave it open on purpose: insecure: true",
	}
	if diff := cmp.Diff(want, problemsOf(err, file)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	const operators = "operators: [{name: a, role: viewer, token_sha256: " + hashA + "}]"
	const edges = "edges: [{edge_id: '*', token_sha256: " + hashA + "}]"
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"none": {loopback, nil},
		"insecure": {"insecure: true\n", []string{
			"insecure is true, and open to other machines without asking for a token: server.wire_listen, server.edge_wire_listen"}},
		"insecure on loopback": {loopback + "insecure: true\n", []string{
			"insecure is true: a listener would be open to other machines without asking for a token"}},
		"tokens": {"auth: {" + edges + ", " + operators + "}\n", []string{
			"tokens without TLS: those of auth.operators cross HTTP and the Client wire in the clear",
			"tokens without TLS: those of auth.edges cross the Edge wire in the clear"}},
		"reserved": {loopback + "database: {url: 'postgres://h'}\nredis: {url: 'redis://h', key_prefix: x}\n", []string{
			"database.url is set, but reserved: nothing uses it yet",
			"redis.url is set, but reserved: nothing uses it yet",
			"redis.key_prefix is set, but reserved: nothing uses it yet"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := LoadControlPlane(Source{File: write(t, "c.yaml", tt.yaml)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, c.Warnings()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrintHidesSecrets(t *testing.T) {
	file := write(t, "c.yaml", loopback+`
auth:
  edges: [{edge_id: 'seoul-*', token_sha256: `+hashA+`}]
  operators: [{name: alice, role: viewer, token_sha256: `+hashB+`}]
database: {url: 'postgres://u:hunter2@db.example/x'}
redis: {url: 'redis://:hunter3@cache.example', key_prefix: iop}
`)
	c, err := LoadControlPlane(Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	printed, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{hashA, hashB, "hunter", "example", "postgres"} {
		if strings.Contains(string(printed), secret) {
			t.Errorf("it shows %q:\n%s", secret, printed)
		}
	}
	if n := strings.Count(string(printed), "'***'") + strings.Count(string(printed), `"***"`); n != 4 {
		t.Errorf("%d values are hidden, want 4:\n%s", n, printed)
	}
}

// The printed keys are those of the documentation's block, in its order.
func TestPrintOrder(t *testing.T) {
	c, err := LoadControlPlane(Source{Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	printed, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("control-plane.yaml")
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`(?m)^( *)#?([a-z_]+):( |$)`)
	keys := func(text []byte) (keys []string) {
		for _, m := range key.FindAllSubmatch(text, -1) {
			keys = append(keys, string(m[1])+string(m[2]))
		}
		return keys
	}
	if diff := cmp.Diff(keys(example), keys(printed)); diff != "" {
		t.Errorf("keys (-example +printed):\n%s", diff)
	}
}

func TestPrintLoadsAgain(t *testing.T) {
	c, err := LoadControlPlane(Source{File: "control-plane.yaml", Flags: map[string]string{"log-level": "debug"}})
	if err != nil {
		t.Fatal(err)
	}
	printed, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadControlPlane(Source{File: write(t, "c.yaml", string(printed))})
	if err != nil {
		t.Fatal(err)
	}
	again.File = c.File
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("configuration (-printed +loaded):\n%s", diff)
	}
}

// uncomment takes the # away where it stands right before a key, as the examples say.
func uncomment(text []byte) string {
	return regexp.MustCompile(`(?m)^( *)#([a-z_]+:)`).ReplaceAllString(string(text), "$1$2")
}

func TestControlPlaneExample(t *testing.T) {
	c, err := LoadControlPlane(Source{File: "control-plane.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c.listeners() {
		if !onLoopback(l.address) {
			t.Errorf("%s is %s, want loopback", l.key, l.address)
		}
	}
	if w := c.Warnings(); w != nil {
		t.Errorf("warnings: %v", w)
	}
	text, err := os.ReadFile("control-plane.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := LoadControlPlane(Source{File: write(t, "c.yaml", uncomment(text))})
	if err != nil {
		t.Fatal(err)
	}
	want := controlPlaneDefaults(true)
	want.complete()
	want.File, want.Log.Format = got.File, "auto"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-defaults +example):\n%s", diff)
	}
}

func TestWhatNoLongerAsksIsNamed(t *testing.T) {
	all := ControlPlane{
		Auth: Auth{Edges: []EdgeToken{{}}, Operators: []Operator{{}}},
		TLS:  TLS{CertFile: "c.pem", KeyFile: "k.pem", EdgeClientCAFile: "ca.pem"},
	}
	want := []string{"auth.operators", "auth.edges", "tls.edge_client_ca_file"}
	if diff := cmp.Diff(want, (&ControlPlane{}).NoLongerAsks(&all)); diff != "" {
		t.Error(diff)
	}
	for _, before := range []ControlPlane{all, {}} {
		if keys := all.NoLongerAsks(&before); keys != nil {
			t.Errorf("of what asks it names %v", keys)
		}
	}
}

func TestReload(t *testing.T) {
	load := func(t *testing.T, yaml string) *ControlPlane {
		t.Helper()
		c, err := LoadControlPlane(Source{File: write(t, "c.yaml", yaml)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const auth = "auth:\n  edges: [{edge_id: '*', token_sha256: " + hashA + "}]\n  operators: [{name: a, role: viewer, token_sha256: " + hashA + "}]\n"
	running := load(t, auth)

	t.Run("takes over", func(t *testing.T) {
		next := load(t, strings.ReplaceAll(auth, "viewer", "operator")+"log: {level: debug, format: json}\nedges: {max_in_flight: 1}\n")
		got, ignored, err := running.Reload(next)
		if err != nil {
			t.Fatal(err)
		}
		if got.Auth.Operators[0].Role != "operator" || got.Log.Level != "debug" || got.Log.Format != "auto" || got.Edges.MaxInFlight != 64 {
			t.Errorf("got %+v", got)
		}
		if want := []string{"edges.max_in_flight", "log.format"}; !slices.Equal(ignored, want) {
			t.Errorf("ignored %v, want %v", ignored, want)
		}
	})
	t.Run("TLS stays on or off", func(t *testing.T) {
		next := load(t, auth)
		next.TLS.CertFile = "c.pem"
		got, ignored, err := running.Reload(next)
		if err != nil || got.TLS.Enabled() || !slices.Equal(ignored, []string{"tls.cert_file"}) {
			t.Errorf("got %+v, ignored %v, error %v", got.TLS, ignored, err)
		}
		with := *running
		with.TLS.CertFile = "old.pem"
		if got, ignored, err = with.Reload(next); err != nil || got.TLS.CertFile != "c.pem" || ignored != nil {
			t.Errorf("got %+v, ignored %v, error %v", got.TLS, ignored, err)
		}
	})
	t.Run("keeps the running listeners closed", func(t *testing.T) {
		_, _, err := running.Reload(load(t, loopback))
		if err == nil || !strings.HasPrefix(err.Error(), "listening since the start: server.wire_listen: 0.0.0.0:19080 is open") {
			t.Errorf("error %v", err)
		}
	})
}
