package configs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdgeAgents(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"on loopback without a token": {`
edge: {id: a, node_listen: "127.0.0.1:0"}
nodes: [{id: n, agent: true, providers: [{id: p, type: vllm, models: [m]}]}]
`, nil},
		"open with a token": {`
edge: {id: a, node_listen: ":19082"}
nodes: [{id: n, agent: true, token_sha256: "` + hashA + `"}, {id: o, providers: [{id: p, type: vllm, base_url: "http://h"}]}]
`, nil},
		"open without one": {`
edge: {id: a, node_listen: ":19082"}
nodes: [{id: n, agent: true}]
`, []string{
			"e.yaml:3: nodes[0].agent: is true without token_sha256, and edge.node_listen is open to other machines; " +
				"expected the SHA-256 of its agent's token, or an address on loopback there"}},
		"nowhere to connect": {`
edge: {id: a}
nodes: [{id: n, agent: true}]
`, []string{"e.yaml:3: nodes[0].agent: is true, but edge.node_listen is empty; expected the address where agents connect there"}},
		"a bad address is told once": {`
edge: {id: a, node_listen: "no"}
nodes: [{id: n, agent: true}]
`, []string{`e.yaml:2: edge.node_listen: "no" is not a listen address; expected host:port such as 127.0.0.1:18080, with a port from 0 to 65535`}},
		"settings that belong elsewhere": {`
edge: {id: a, node_listen: "127.0.0.1:0"}
nodes:
  - id: n
    agent: true
    providers: [{id: p, type: vllm, base_url: "http://h", capacity: 1}]
  - id: o
    token_sha256: "` + hashA + `"
    providers: [{id: p, type: vllm}]
`, []string{
			"e.yaml:6: nodes[0].providers[0].base_url: is set for a node with an agent; expected it in the agent's configuration",
			"e.yaml:6: nodes[0].providers[0].capacity: is set for a node with an agent; expected capacities in the agent's configuration",
			"e.yaml:8: nodes[1].token_sha256: is set, but agent is not true; expected agent: true, or nothing here",
			"e.yaml:9: nodes[1].providers[0].base_url: is missing; it must be given"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, "e.yaml", tt.yaml)
			_, err := LoadEdge(Source{File: file})
			var got []string
			if err != nil {
				got = problemsOf(err, file)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
