package configs

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// EdgeSettings is the part of an Edge's configuration that can be changed while it runs.
type EdgeSettings struct {
	Nodes []EdgeNode `yaml:"nodes" check:"required"`
	Probe EdgeProbe  `yaml:"probe"`
}

// Settings is the part of e that can be changed.
func (e *Edge) Settings() EdgeSettings { return EdgeSettings{e.Nodes, e.Probe} }

// WithSettings is e with other settings.
func (e *Edge) WithSettings(s EdgeSettings) *Edge {
	other := *e
	other.Nodes, other.Probe = s.Nodes, s.Probe
	return &other
}

// ParseSettings reads a settings document, YAML or JSON, as strictly as a file. Nodes are those that it names; what it
// says nothing of in probe stays. A secret that is *** stands for the one that there is, since that is how Show gives it.
// The error is Problems, and shows no secret.
//
// Nodes with agents must be as they are: their agents are connected under what was declared at the start.
func (e *Edge) ParseSettings(document string) (EdgeSettings, error) {
	next := EdgeSettings{Probe: e.Probe}
	d := &decoder{report: newReport(), file: "settings"}
	text := []byte(document)
	if json.Valid(text) {
		text = forYAML(text)
	}
	root := d.parse(text)
	switch {
	case root != nil:
		unmask(root, e.Nodes)
		d.value(root, reflect.ValueOf(&next).Elem(), "", field{})
	case len(d.problems) == 0:
		d.at(place{source: d.file}, "", "are empty; expected nodes, and probe")
	}
	checkIDs(d.report, next.Nodes)
	checkAgents(d.report, next.Nodes, e.Edge.NodeListen)
	if len(d.problems) == 0 && !reflect.DeepEqual(withAgents(e.Nodes), withAgents(next.Nodes)) {
		d.at(place{source: d.file}, "nodes", "change nodes with an agent; expected those as they are, since a change of them needs a restart")
	}
	if err := d.err(); err != nil {
		return EdgeSettings{}, err
	}
	return next, nil
}

func withAgents(nodes []EdgeNode) (agents []EdgeNode) {
	for _, n := range nodes {
		if n.Agent {
			agents = append(agents, n)
		}
	}
	return agents
}

// unmask puts the secrets that nodes have in the place of *** in a document.
func unmask(root *yaml.Node, nodes []EdgeNode) {
	urls, tokens := map[[2]string]string{}, map[string]string{}
	for _, n := range nodes {
		tokens[n.ID] = n.TokenSHA256
		for _, p := range n.Providers {
			urls[[2]string{n.ID, p.ID}] = p.BaseURL
		}
	}
	put := func(at *yaml.Node, secret string) {
		if at != nil && at.Value == masked && secret != "" {
			at.Value = secret
		}
	}
	for _, n := range items(valueOf(root, "nodes")) {
		put(valueOf(n, "token_sha256"), tokens[textOf(n, "id")])
		for _, p := range items(valueOf(n, "providers")) {
			put(valueOf(p, "base_url"), urls[[2]string{textOf(n, "id"), textOf(p, "id")}])
		}
	}
}

// valueOf is what a mapping has under a key; nil: n is no mapping, or has no such key.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func textOf(n *yaml.Node, key string) string {
	if v := valueOf(n, key); v != nil {
		return v.Value
	}
	return ""
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// Show is the configuration as it is in force, as what JSON knows. Tokens and base_urls that aren't empty are ***.
func (e *Edge) Show() (map[string]any, error) {
	text, err := encode(e, func(string) string { return masked })
	if err != nil {
		return nil, err
	}
	var shown map[string]any
	return shown, yaml.Unmarshal(text, &shown)
}

// ChangesTo has what differs in next, a line each, by ids. It shows no base_url.
func (s EdgeSettings) ChangesTo(next EdgeSettings) (changes []string) {
	for _, key := range differences("probe", reflect.ValueOf(&s.Probe).Elem(), reflect.ValueOf(&next.Probe).Elem()) {
		changes = append(changes, key+" changed")
	}
	is, was := byID(next.Nodes, nodeID), byID(s.Nodes, nodeID)
	for _, id := range slices.Sorted(maps.Keys(merged(is, was))) {
		name := "node " + id
		if line := comeOrGone(name, is, was, id); line != "" {
			changes = append(changes, line)
			continue
		}
		a, b := was[id], is[id]
		for _, key := range differences("", reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()) {
			if key == "providers" {
				changes = append(changes, providerChanges(name, a.Providers, b.Providers)...)
			} else {
				changes = append(changes, name+": "+key+" changed")
			}
		}
	}
	return changes
}

func providerChanges(node string, old, next []EdgeProvider) (changes []string) {
	is, was := byID(next, providerID), byID(old, providerID)
	for _, id := range slices.Sorted(maps.Keys(merged(is, was))) {
		name := node + ", provider " + id
		if line := comeOrGone(name, is, was, id); line != "" {
			changes = append(changes, line)
			continue
		}
		a, b := was[id], is[id]
		for _, key := range differences("", reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()) {
			changes = append(changes, name+": "+key+" changed")
		}
	}
	if len(changes) == 0 {
		changes = append(changes, node+": the order of providers changed")
	}
	return changes
}

func nodeID(n EdgeNode) string         { return n.ID }
func providerID(p EdgeProvider) string { return p.ID }

func byID[T any](all []T, id func(T) string) map[string]T {
	m := make(map[string]T, len(all))
	for _, one := range all {
		m[id(one)] = one
	}
	return m
}

func merged[T any](a, b map[string]T) map[string]T {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func comeOrGone[T any](name string, is, was map[string]T, id string) string {
	_, now := is[id]
	_, before := was[id]
	switch {
	case !before:
		return name + " is new"
	case !now:
		return name + " is gone"
	}
	return ""
}
