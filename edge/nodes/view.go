package nodes

import (
	"maps"
	"slices"
	"time"

	"iop/edge"
)

// Node is a node that an agent may report.
type Node struct {
	ID string
	// Name and Labels take precedence over what the agent says.
	Name   string
	Labels map[string]string
	// TokenSHA256 is the hash of the token that the agent must know; nil: no token is needed.
	TokenSHA256 *[32]byte
	// Providers are in the snapshot from the start, before an agent has reported any; only ID, Type and
	// Models are used.
	Providers []edge.Provider
}

// identity is what an agent says of its node.
type identity struct {
	name   string
	labels map[string]string
}

// view is what is known of one node, and stays known without an owner.
type view struct {
	declared  Node
	identity  identity
	providers []edge.Provider // as last told
}

// node is the node as the Edge tells of it.
func (v *view) node(connected bool) edge.Node {
	n := edge.Node{ID: v.declared.ID, Name: v.declared.Name, Connected: connected, Announced: true, Labels: v.labels()}
	if n.Name == "" {
		n.Name = v.identity.name
	}
	for _, d := range v.declared.Providers {
		told := slices.IndexFunc(v.providers, func(p edge.Provider) bool { return p.ID == d.ID })
		if told < 0 {
			n.Providers = append(n.Providers, offline(d))
			continue
		}
		p := v.providers[told]
		if len(p.Models) == 0 { // an agent that can't reach its provider doesn't know them
			p.Models = d.Models
		}
		n.Providers = append(n.Providers, shown(p, connected))
	}
	for _, p := range v.providers {
		if !slices.ContainsFunc(v.declared.Providers, func(d edge.Provider) bool { return p.ID == d.ID }) {
			n.Providers = append(n.Providers, shown(p, connected))
		}
	}
	return n
}

// providersOf are the providers that a statement names. How old their loads are is told as a duration: the agent's clock
// need not be ours.
func providersOf(told statement, now time.Time) []edge.Provider {
	providers := edge.ProvidersFromWire(told.GetProviders())
	ages := make(map[string]time.Duration, len(providers))
	for _, l := range told.GetLoads() {
		if l.Age.IsValid() {
			ages[l.ProviderId] = max(l.Age.AsDuration(), 0)
		}
	}
	for i := range providers {
		if age, known := ages[providers[i].ID]; known {
			providers[i].LoadAt = now.Add(-age)
		}
	}
	return providers
}

// labels are the agent's and over them the declared ones.
func (v *view) labels() map[string]string {
	if len(v.identity.labels) == 0 {
		return v.declared.Labels
	}
	all := maps.Clone(v.identity.labels)
	maps.Copy(all, v.declared.Labels)
	return all
}

// shown is a provider as it was told; one that is offline has no numbers, whatever was told.
func shown(p edge.Provider, connected bool) edge.Provider {
	if !connected {
		return offline(p)
	}
	if p.Health == edge.Offline {
		loadAt := p.LoadAt
		p = offline(p)
		p.LoadAt = loadAt
	}
	return p
}

// offline keeps of a provider who it is.
func offline(p edge.Provider) edge.Provider {
	return edge.Provider{ID: p.ID, Type: p.Type, Models: p.Models, Status: edge.Unavailable, Health: edge.Offline}
}
