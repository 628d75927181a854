package configs

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNodeExample(t *testing.T) {
	text, err := os.ReadFile("node.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := nodeDefaults()
	want.Node.ID = "gpu-2"
	want.Providers = []EdgeProvider{{ID: "vllm-0", Type: "vllm", BaseURL: "http://127.0.0.1:8000", Capacity: 8}}
	for name, text := range map[string]string{"as it is": string(text), "all keys": uncomment(text)} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadNode(Source{File: write(t, "n.yaml", text)})
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

func TestNodeWhole(t *testing.T) {
	token := write(t, "token", "from-file\n")
	got, err := LoadNode(Source{
		File: write(t, "n.yaml", `
node: {id: gpu-1, name: One, labels: {zone: a}}
edge: {address: edge.example:1, token_file: "`+token+`", reconnect: {initial: 2s, max: 1m}}
providers: [{id: p, type: tgi, base_url: "https://h/x", models: [m], capacity: 1, long_context_capacity: 2}]
probe: {interval: 1s, timeout: 1s}
log: {level: debug, format: json}
`),
		Env: env("IOP_NODE_ID", "gpu-2", "IOP_EDGE_ADDRESS", "other:1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Node{
		File: got.File,
		Node: NodeIdentity{ID: "gpu-2", Name: "One", Labels: map[string]string{"zone": "a"}},
		Edge: NodeEdge{Address: "other:1", TokenFile: token, Reconnect: EdgeReconnect{2 * time.Second, time.Minute}},
		Providers: []EdgeProvider{
			{ID: "p", Type: "tgi", BaseURL: "https://h/x", Models: []string{"m"}, Capacity: 1, LongContextCapacity: 2}},
		Probe: EdgeProbe{time.Second, time.Second},
		Log:   Log{"debug", "json"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if token, err := got.ReadToken(); token != "from-file" || err != nil {
		t.Errorf("token %q, error %v", token, err)
	}
	if w := got.Warnings(); len(w) != 1 {
		t.Errorf("warnings %v, want one", w)
	}
	got, err = LoadNode(Source{File: got.File, Env: env("IOP_NODE_TOKEN", "variable")})
	if err != nil {
		t.Fatal(err)
	}
	if token, err := got.ReadToken(); token != "variable" || err != nil {
		t.Errorf("token %q, error %v", token, err)
	}
}

func TestNodeProblems(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"no id": {"edge: {address: 'h:1'}\n", []string{
			"built-in default: node.id: is empty; expected the node's id as the Edge knows it, from here or from IOP_NODE_ID"}},
		"unknown": {"node: {id: a, region: b}\n", []string{
			"n.yaml:1: node.region: is an unknown key; expected one of id, name, labels"}},
		"token and file": {"node: {id: a}\nedge: {token: t, token_file: absent}\n", []string{
			"n.yaml:2: edge.token_file: is set beside edge.token; expected one of them",
			"n.yaml:2: edge.token_file: absent can't be read: no such file or directory; expected a file with one line, the token"}},
		"reconnect": {"node: {id: a}\nedge: {reconnect: {initial: 1m}}\n", []string{
			"n.yaml:2: edge.reconnect.initial: 1m is more than edge.reconnect.max; expected at most 30s"}},
		"providers": {`
node: {id: a}
providers:
  - {id: p, type: vllm}
  - {id: p, type: vllm, base_url: "http://h"}
`, []string{
			"n.yaml:4: providers[0].base_url: is missing; it must be given",
			"n.yaml:5: providers[1].id: is the same as providers[0].id; expected another"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, "n.yaml", tt.yaml)
			_, err := LoadNode(Source{File: file})
			if diff := cmp.Diff(tt.want, problemsOf(err, file)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
