package configs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func settingsBefore() EdgeSettings {
	return EdgeSettings{
		Nodes: []EdgeNode{
			{ID: "a", Providers: []EdgeProvider{{ID: "p", Type: "vllm", BaseURL: "http://10.0.0.7:1", Capacity: 8}, {ID: "q", Type: "tgi", BaseURL: "http://10.0.0.7:2"}}},
			{ID: "b", Name: "B"},
		},
		Probe: EdgeProbe{5 * time.Second, 2 * time.Second},
	}
}

// runs is an Edge with settings in force.
func runs(s EdgeSettings) *Edge {
	e := edgeDefaults().WithSettings(s)
	e.Edge.NodeListen = "127.0.0.1:1"
	return e
}

func TestSettingsAreReplacedAsAWhole(t *testing.T) {
	for name, document := range map[string]string{
		"YAML": "nodes:\n  - {id: a, labels: {k: v}, providers: [{id: p, type: vllm, base_url: '***', capacity: 16}, {id: r, type: tgi, base_url: 'http://h'}]}\n  - {id: c}\nprobe: {timeout: 1s}\n",
		"JSON": `{"nodes":[{"id":"a","labels":{"k":"v"},"providers":[{"id":"p","type":"vllm","base_url":"***","capacity":16},{"id":"r","type":"tgi","base_url":"http://h"}]},{"id":"c"}],"probe":{"timeout":"1s"}}`,
	} {
		before := settingsBefore()
		got, err := runs(before).ParseSettings(document)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := EdgeSettings{
			Nodes: []EdgeNode{
				{ID: "a", Labels: map[string]string{"k": "v"}, Providers: []EdgeProvider{{ID: "p", Type: "vllm", BaseURL: "http://10.0.0.7:1", Capacity: 16}, {ID: "r", Type: "tgi", BaseURL: "http://h"}}},
				{ID: "c"},
			},
			Probe: EdgeProbe{5 * time.Second, time.Second},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		changes := []string{"probe.timeout changed", "node a: labels changed", "node a, provider p: capacity changed",
			"node a, provider q is gone", "node a, provider r is new", "node b is gone", "node c is new"}
		if diff := cmp.Diff(changes, before.ChangesTo(got)); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", name, diff)
		}
	}
	if c := settingsBefore().ChangesTo(settingsBefore()); c != nil {
		t.Errorf("nothing changed, and it says %v", c)
	}
}

func TestNoNodesAreSaidOutright(t *testing.T) {
	if got, err := runs(settingsBefore()).ParseSettings("nodes: []"); err != nil || len(got.Nodes) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// JSON isn't always YAML: it has escapes that YAML doesn't know.
func TestSettingsOfAnyJSON(t *testing.T) {
	for text, want := range map[string]string{
		`\ud83d\ude80`:          "\U0001F680",
		`\uD83D\uDE80 \u00e9\/`: "\U0001F680 é/",
		`\\ud83d`:               `\ud83d`,
		`\\\ud83d\ude80`:        `\` + "\U0001F680",
	} {
		got, err := runs(settingsBefore()).ParseSettings(`{"nodes":[{"id":"a","labels":{"k":"` + text + `"}}]}`)
		if err != nil || got.Nodes[0].Labels["k"] != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for document, want := range map[string]string{
		`{"nodes":[],"nodes":[{"id":"a","name":"\ud83d\ude80"}]}`: "nodes: is a repeated key",
		`{"nodes":[{"id":"a","name":"\ud83d"}]}`:                  "is not YAML",
	} {
		if _, err := runs(settingsBefore()).ParseSettings(document); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"nothing":            {"", "settings: are empty"},
		"no nodes":           {"probe: {interval: 1s}", "settings:1: nodes: is missing"},
		"null":               {"null", "settings: are empty"},
		"nothing and a mark": {"--- # nothing\n", "settings: are empty"},
		"nodes of null":      {"probe: {interval: 1s}\nnodes:\n", "settings:2: nodes: is empty; expected a list, [] for none"},
		"null in JSON":       {`{"nodes": null}`, "settings:1: nodes: is empty; expected a list, [] for none"},
		"a node of null":     {"nodes: [null]", "settings:1: nodes[0]: is empty"},
		"an id of null":      {"nodes: [{id: null}]", "settings:1: nodes[0].id: is empty"},
		"no YAML":            {"nodes: [", "is not YAML"},
		"not a mapping":      {"[]", "is a list"},
		"an unknown key":     {"nodes: []\nedge: {id: b}", "settings:2: edge: is an unknown key; expected one of nodes, probe"},
		"an id twice":        {"nodes: [{id: a}, {id: a}]", "nodes[1].id: is the same as nodes[0].id"},
		"a bad URL":          {"nodes: [{id: a, providers: [{id: p, type: vllm, base_url: '10.0.0.7'}]}]", "base_url: the value is not a base URL"},
		"a URL not known":    {"nodes: [{id: z, providers: [{id: p, type: vllm, base_url: '***'}]}]", "base_url: the value is not a base URL"},
		"another agent":      {"nodes: [{id: a}, {id: z, agent: true}]", "settings: nodes: change nodes with an agent"},
		"two documents":      {"nodes: []\n---\nnodes: []", "begins a second document"},
	} {
		_, err := runs(settingsBefore()).ParseSettings(c.document)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "10.0.0.7") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestWhatIsShownHasNoSecrets(t *testing.T) {
	e := edgeDefaults()
	e.ControlPlane.Token, e.PassThrough.Token = "s3cret", "s3cret"
	shown, err := e.WithSettings(settingsBefore()).Show()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "10.0.0.7") || !strings.Contains(string(text), `"capacity":8`) {
		t.Errorf("shown is %s", text)
	}
	// What is shown can be given back: addresses stay.
	document, err := json.Marshal(map[string]any{"nodes": shown["nodes"], "probe": shown["probe"]})
	if err != nil {
		t.Fatal(err)
	}
	again, err := runs(settingsBefore()).ParseSettings(string(document))
	if diff := cmp.Diff(settingsBefore(), again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("nodes: [{id: a, providers: [{id: p, base_url: '***'}]}]")
	f.Add("nodes: {id: &a [*a]}\nprobe: ~")
	f.Fuzz(func(t *testing.T, document string) {
		before := settingsBefore()
		next, err := runs(before).ParseSettings(document)
		if err != nil {
			return
		}
		_ = before.ChangesTo(next)
		if again := next.ChangesTo(next); len(again) > 0 {
			t.Errorf("what is in force changes once more: %v", again)
		}
	})
}
