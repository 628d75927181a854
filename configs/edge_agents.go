package configs

import "fmt"

// checkAgents wants each setting of a node where it has a meaning: with an agent, which connects at the address listen,
// or without.
func checkAgents(r *report, nodes []EdgeNode, listen string) {
	for i, n := range nodes {
		key := fmt.Sprintf("nodes[%d]", i)
		if n.Agent {
			checkAgent(r, key, n, listen)
			continue
		}
		if n.TokenSHA256 != "" {
			r.on(key+".token_sha256", "is set, but agent is not true; expected agent: true, or nothing here")
		}
		for j, p := range n.Providers {
			checkBaseURL(r, fmt.Sprintf("%s.providers[%d]", key, j), p)
		}
	}
}

func checkAgent(r *report, key string, n EdgeNode, listen string) {
	switch {
	case listen == "" && !r.problems.touch("edge.node_listen"):
		r.on(key+".agent", "is true, but edge.node_listen is empty; expected the address where agents connect there")
	case n.TokenSHA256 == "" && !onLoopback(listen) && !r.problems.touch("edge.node_listen", key+".token_sha256"):
		r.on(key+".agent", "is true without token_sha256, and edge.node_listen is open to other machines; "+
			"expected the SHA-256 of its agent's token, or an address on loopback there")
	}
	for j, p := range n.Providers {
		provider := fmt.Sprintf("%s.providers[%d]", key, j)
		if p.BaseURL != "" {
			r.on(provider+".base_url", "is set for a node with an agent; expected it in the agent's configuration")
		}
		if p.Capacity != 0 || p.LongContextCapacity != 0 {
			r.on(provider+".capacity", "is set for a node with an agent; expected capacities in the agent's configuration")
		}
	}
}

// checkBaseURL wants one for a provider that is asked.
func checkBaseURL(r *report, key string, p EdgeProvider) {
	if p.BaseURL == "" && !r.problems.touch(key+".base_url") {
		r.at(r.places[key], key+".base_url", "is missing; it must be given")
	}
}
