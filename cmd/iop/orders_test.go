package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/client"
)

// record is a command as the Control Plane remembers it: "operation node state", with a provider at the node as node/provider.
func record(text string) *client.Operation {
	words := strings.Fields(text)
	node, provider, _ := strings.Cut(words[1], "/")
	o := &client.Operation{Operation: words[0], NodeID: &node, State: client.OperationState(words[2]), CreatedAt: *before(time.Minute)}
	if provider != "" {
		o.Parameters = map[string]any{"provider_id": provider}
	}
	if o.State.Terminal() {
		o.FinishedAt = before(30 * time.Second)
	}
	return o
}

func TestOrdersInForce(t *testing.T) {
	for name, c := range map[string]struct {
		records []string // newest first
		want    string
	}{
		"nothing":               {nil, ""},
		"drained":               {[]string{"edge.ping n succeeded", "node.drain n succeeded"}, "n: node.drain succeeded"},
		"resumed":               {[]string{"node.resume n succeeded", "node.drain n succeeded"}, ""},
		"and drained again":     {[]string{"node.drain n running", "node.resume n succeeded", "node.drain n succeeded"}, "n: node.drain running"},
		"another node's":        {[]string{"node.resume m succeeded", "node.drain n succeeded"}, "n: node.drain succeeded"},
		"a resume not taken":    {[]string{"node.resume n rejected", "node.resume n expired", "node.drain n succeeded"}, "n: node.drain succeeded"},
		"a drain not taken":     {[]string{"node.drain n rejected"}, ""},
		"a drain not yet sent":  {[]string{"node.drain n pending"}, ""},
		"over its deadline":     {[]string{"node.drain n failed"}, "n: node.drain failed"},
		"perhaps":               {[]string{"node.drain n unknown"}, "n: node.drain unknown"},
		"a provider":            {[]string{"provider.disable n/p succeeded"}, "n/p: provider.disable succeeded"},
		"a provider, and back":  {[]string{"provider.enable n/p succeeded", "provider.disable n/p succeeded"}, ""},
		"another provider's":    {[]string{"provider.enable n/q succeeded", "provider.disable n/p succeeded"}, "n/p: provider.disable succeeded"},
		"a node resumed around": {[]string{"node.resume n succeeded", "provider.disable n/p succeeded"}, "n/p: provider.disable succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			var records []*client.Operation
			for _, text := range c.records {
				records = append(records, record(text))
			}
			got := []string{}
			for at, o := range inForce(records) {
				got = append(got, strings.TrimSuffix(at.node+"/"+at.provider, "/")+": "+o.Operation+" "+string(o.State))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
	nowhere := &client.Operation{Operation: "node.drain", State: client.Succeeded} // a command without a node
	if got := slices.Collect(maps.Keys(inForce([]*client.Operation{nowhere}))); len(got) > 0 {
		t.Errorf("without a node: %v", got)
	}
}

// What is out of service is told with the order that took it out; an order never hides what is broken.
func TestTroubleByOrder(t *testing.T) {
	closed, open := provider("p", "unavailable", "online"), provider("q", "available", "online")
	drain := record("node.drain n succeeded")
	drain.RequestedBy, drain.Reason = ptr("alice"), ptr("new \x1bdriver")
	for name, c := range map[string]struct {
		providers []*client.Provider
		known     orders
		want      []string
	}{
		"drained": {[]*client.Provider{closed, provider("r", "unavailable", "online")}, orders{{node: "n"}: drain},
			[]string{"node n is drained (node.drain succeeded 30s ago by alice: new  driver)"}},
		"under way": {[]*client.Provider{closed}, orders{{node: "n"}: record("node.drain n running")},
			[]string{"node n is drained (node.drain running, asked for 1m ago)"}},
		"drained and broken": {[]*client.Provider{closed, provider("r", "unavailable", "offline")}, orders{{node: "n"}: record("node.drain n succeeded")},
			[]string{"node n is drained (node.drain succeeded 30s ago)", "n/r is offline"}},
		"an order that a restart undid": {[]*client.Provider{open}, orders{{node: "n"}: drain}, nil},
		"another node's":                {[]*client.Provider{closed}, orders{{node: "m"}: drain}, []string{"n/p is unavailable, but online: drained or disabled"}},
		"disabled": {[]*client.Provider{closed, open}, orders{{"n", "p"}: record("provider.disable n/p succeeded")},
			[]string{"n/p is disabled (provider.disable succeeded 30s ago)"}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := []*client.Node{{NodeID: "n", Connected: true, Providers: c.providers}}
			if diff := cmp.Diff(c.want, testApp().siteTrouble(nodes, c.known)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Records that can't be had are asked for once, and not again for each further Edge, of which each could take as long as an answer may.
func TestOrdersThatCantBeHad(t *testing.T) {
	const status = `"connected":true,"nodes":[{"node_id":"n","connected":true,"providers":[{"provider_id":"p","status":"unavailable","health":"online"}]}]}`
	operations := func(id string) string { return "/edges/" + id + "/operations" }
	fleet := map[string][]string{
		"/fleet/status": {`{"edges":{"total":3},"statuses":[{"edge_id":"a",` + status + `,{"edge_id":"b",` + status + `,{"edge_id":"c",` + status + `]}`},
		"/edges":        {`{"edges":[]}`},
	}
	for name, c := range map[string]struct {
		answer string // to who asks for a's records
		asked  []string
	}{
		"there":     {`{"operations":[]}`, []string{"a", "b", "c"}},
		"forgotten": {"", []string{"a", "b", "c"}},
		"no answer": {"502", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: maps.Clone(fleet)}
			s.answers[operations("a")] = []string{c.answer}
			exit, out, talk := s.iop(t, "fleet", "status")
			var asked []string
			for _, id := range []string{"a", "b", "c"} {
				if slices.ContainsFunc(s.asked, func(path string) bool { return strings.HasPrefix(path, operations(id)) }) {
					asked = append(asked, id)
				}
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" || exit != exitOK || strings.Count(out, "drained or disabled") != 3 {
				t.Errorf("%s\nexit code %d\n%s%s", diff, exit, out, talk)
			}
		})
	}
}
