package configs

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEdgeExample(t *testing.T) {
	text, err := os.ReadFile("edge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := edgeDefaults()
	want.Edge.ID = "seoul-1"
	want.Nodes = []EdgeNode{{ID: "gpu-1", Providers: []EdgeProvider{
		{ID: "vllm-0", Type: "vllm", BaseURL: "http://127.0.0.1:8000", Capacity: 8},
	}}}
	for name, text := range map[string]string{"as it is": string(text), "all keys": uncomment(text)} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadEdge(Source{File: write(t, "e.yaml", text)})
			if err != nil {
				t.Fatal(err)
			}
			want.File = got.File
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEdgeWhole(t *testing.T) {
	got, err := LoadEdge(Source{
		File: write(t, "e.yaml", `
edge: {id: seoul-1, name: Seoul, labels: {zone: a}}
control_plane:
  address: cp.example:19081
  token: t
  tls: {enabled: true, server_name: cp}
  reconnect: {initial: 2s, max: 1m}
nodes:
  - {id: a, name: A, labels: {k: v}, providers: [{id: p, type: tgi, base_url: "https://h/x", models: [m], capacity: 1, long_context_capacity: 2}]}
  - {id: b, providers: [{id: p, type: ollama, base_url: "http://h"}]}
probe: {interval: 1s, timeout: 1s}
log: {level: debug, format: json}
`),
		Env: env("IOP_EDGE_ID", "busan-1", "IOP_CONTROL_PLANE_ADDRESS", "other:1", "IOP_EDGE_TOKEN", "u"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Edge{
		File: got.File,
		Edge: EdgeIdentity{ID: "busan-1", Name: "Seoul", Labels: map[string]string{"zone": "a"}},
		ControlPlane: EdgeControlPlane{
			Address: "other:1", Token: "u", TLS: EdgeTLS{Enabled: true, ServerName: "cp"},
			Reconnect: EdgeReconnect{2 * time.Second, time.Minute},
		},
		Nodes: []EdgeNode{
			{ID: "a", Name: "A", Labels: map[string]string{"k": "v"}, Providers: []EdgeProvider{
				{ID: "p", Type: "tgi", BaseURL: "https://h/x", Models: []string{"m"}, Capacity: 1, LongContextCapacity: 2}}},
			{ID: "b", Providers: []EdgeProvider{{ID: "p", Type: "ollama", BaseURL: "http://h"}}},
		},
		Probe:       EdgeProbe{time.Second, time.Second},
		PassThrough: EdgePassThrough{Queue: 64, QueueTimeout: 30 * time.Second},
		Log:         Log{"debug", "json"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestEdgeProblems(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty", []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"no id": {"edge: {id: ''}\n", []string{
			"e.yaml:1: edge.id: is empty; expected the Edge's id, from here or from IOP_EDGE_ID"}},
		"a bad id is told once": {"edge: {id: -a}\n", []string{
			`e.yaml:1: edge.id: "-a" is not an id; expected 1 to 128 letters, digits and . _ - : with a letter or digit first`}},
		"no port to dial": {"edge: {id: a}\ncontrol_plane: {address: cp}\n", []string{
			`e.yaml:2: control_plane.address: "cp" is not an address to connect to; expected host:port such as 127.0.0.1:19081, with a port from 1 to 65535`}},
		"a token of the wrong type is not shown": {"edge: {id: a}\ncontrol_plane: {token: 12345}\n", []string{
			"e.yaml:2: control_plane.token: is a number; expected text, in quotes if need be"}},
		"token and file": {"edge: {id: a}\ncontrol_plane: {token: t, token_file: empty}\n", []string{
			"e.yaml:2: control_plane.token_file: is set beside control_plane.token; expected one of them",
			"e.yaml:2: control_plane.token_file: empty is empty; expected a file with one line, the token"}},
		"token_file absent": {"edge: {id: a}\ncontrol_plane: {token_file: absent}\n", []string{
			"e.yaml:2: control_plane.token_file: absent can't be read: no such file or directory; expected a file with one line, the token"}},
		"tls files without tls": {"edge: {id: a}\ncontrol_plane:\n  tls:\n    ca_file: absent\n    server_name: cp\n", []string{
			"e.yaml:4: control_plane.tls.ca_file: is set, but control_plane.tls.enabled is false; expected enabled: true, or nothing here",
			"e.yaml:4: control_plane.tls.ca_file: absent can't be read: no such file or directory; expected a PEM file",
			"e.yaml:5: control_plane.tls.server_name: is set, but control_plane.tls.enabled is false; expected enabled: true, or nothing here"}},
		"half a pair": {"edge: {id: a}\ncontrol_plane: {tls: {enabled: true, cert_file: absent}}\n", []string{
			"e.yaml:2: control_plane.tls.cert_file: is set without control_plane.tls.key_file; expected both or neither"}},
		"reconnect": {"edge: {id: a}\ncontrol_plane: {reconnect: {initial: 1m}}\n", []string{
			"e.yaml:2: control_plane.reconnect.initial: 1m is more than control_plane.reconnect.max; expected at most 30s"}},
		"no probe interval": {"edge: {id: a}\nprobe: {interval: 0s}\n", []string{
			`e.yaml:2: probe.interval: "0s" is out of range; expected 10ms to 1h`}},
		"labels": {"edge:\n  id: a\n  labels: {zone: 1, ok: x, ok: y}\n", []string{
			`e.yaml:3: edge.labels.zone: is a number ("1"); expected text, in quotes if need be`,
			"e.yaml:3: edge.labels.ok: is a repeated key, first given on line 3; expected once"}},
		"a long label": {"edge:\n  id: a\n  labels: {zone: " + strings.Repeat("x", 257) + "}\n", []string{
			"e.yaml:3: edge.labels: has a label off the limits; expected keys and values of one line and at most 256 bytes, no key empty"}},
		"a pass-through for everybody": {"edge: {id: a}\npass_through: {listen: ':8080'}\n", []string{
			`e.yaml:2: pass_through.listen: ":8080" is not on loopback, and pass_through.token is empty; expected a token, or an address such as 127.0.0.1:8080`}},
		"a long socket": {"edge: {id: a}\nstatus_socket: " + strings.Repeat("x", 101) + "\n", []string{
			"e.yaml:2: status_socket: is 101 bytes long; expected at most 100"}},
		"ids twice": {`
edge: {id: a}
nodes:
  - id: n
    providers:
      - {id: p, type: vllm, base_url: "http://h"}
      - {id: p, type: vllm, base_url: "http://h"}
  - id: n
`, []string{
			"e.yaml:7: nodes[0].providers[1].id: is the same as nodes[0].providers[0].id; expected another",
			"e.yaml:8: nodes[1].id: is the same as nodes[0].id; expected another"}},
		"a bad provider": {`
edge: {id: a}
nodes:
  - id: n
    providers:
      - {id: p, type: triton, base_url: "h:80", capacity: -1, models: ['']}
      - {}
`, []string{
			`e.yaml:6: nodes[0].providers[0].type: "triton" is unknown; expected one of vllm, sglang, llamacpp, tgi, ollama, openai`,
			`e.yaml:6: nodes[0].providers[0].base_url: the value is not a base URL; expected http:// or https:// with a host, without user, query and fragment`,
			`e.yaml:6: nodes[0].providers[0].capacity: "-1" is negative; expected 0 to 1000000`,
			`e.yaml:6: nodes[0].providers[0].models[0]: "" is empty; expected text`,
			"e.yaml:7: nodes[0].providers[1].id: is missing; it must be given",
			"e.yaml:7: nodes[0].providers[1].type: is missing; it must be given",
			"e.yaml:7: nodes[0].providers[1].base_url: is missing; it must be given"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := write(t, "e.yaml", tt.yaml)
			_, err := LoadEdge(Source{File: file})
			if diff := cmp.Diff(tt.want, problemsOf(err, file)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEdgeWithoutFile(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := LoadEdge(Source{})
	want := "built-in default: edge.id: is empty; expected the Edge's id, from here or from IOP_EDGE_ID"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	e, err := LoadEdge(Source{Env: env("IOP_EDGE_ID", "a")})
	if err != nil || e.Edge.ID != "a" {
		t.Errorf("got %+v, error %v", e, err)
	}
}

func TestReadToken(t *testing.T) {
	path := write(t, "token", "secret\n")
	e, err := LoadEdge(Source{File: write(t, "e.yaml", "edge: {id: a}\ncontrol_plane: {token_file: "+path+"}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if token, err := e.ReadToken(); err != nil || token != "secret" {
		t.Errorf("token %q, error %v", token, err)
	}
	if err := os.WriteFile(path, []byte("two\nlines\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := e.ReadToken(); err == nil {
		t.Errorf("token %q, want an error", token)
	}
	e, err = LoadEdge(Source{File: e.File, Env: env("IOP_EDGE_TOKEN", "variable")})
	if err != nil {
		t.Fatal(err) // the variable wins, so the file isn't looked at
	}
	if token, err := e.ReadToken(); err != nil || token != "variable" {
		t.Errorf("token %q, error %v", token, err)
	}
}

func TestEdgeWarnings(t *testing.T) {
	load := func(address, tls, token string) []string {
		e, err := LoadEdge(Source{
			File: write(t, "e.yaml", "edge: {id: a}\ncontrol_plane: {address: '"+address+"', tls: {enabled: "+tls+"}}\n"),
			Env:  env("IOP_EDGE_TOKEN", token),
		})
		if err != nil {
			t.Fatal(err)
		}
		return e.Warnings()
	}
	if w := load("cp.example:1", "false", "t"); len(w) != 1 {
		t.Errorf("warnings %v, want one", w)
	}
	for _, w := range [][]string{load("127.0.0.1:1", "false", "t"), load("cp.example:1", "true", "t"), load("cp.example:1", "false", "")} {
		if w != nil {
			t.Errorf("warnings %v, want none", w)
		}
	}
}
