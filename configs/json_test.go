package configs

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

func TestYAMLOf(t *testing.T) {
	const document = `{"edge_id":"seoul-1","name":null,"labels":{"demo":"true","n":"yes","date":"2026-01-02","empty":""},"operations":["a","b"],
		"none":[],"object":{},"text":"a: b # \"c\"\n ","connected":true,"count":10,"part":0.5}`
	const want = `edge_id: seoul-1
name: null
labels:
  demo: "true"
  "n": "yes"
  date: "2026-01-02"
  empty: ""
operations:
  - a
  - b
none: []
object: {}
text: "a: b # \"c\"\n "
connected: true
count: 10
part: 0.5
`
	got, err := YAMLOf([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// Every character can stand in a text, alone and between others: one Edge's text must not break the answer for all.
func TestYAMLOfEveryCharacter(t *testing.T) {
	var want, got []string
	for r := rune(0); r <= 0x10100; r++ {
		if r < 0xD800 || r > 0xDFFF {
			want = append(want, string(r), "a"+string(r)+"b")
		}
	}
	document, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAMLOf(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestYAMLOfEscapes(t *testing.T) {
	if got, err := YAMLOf([]byte(`["\ud83d\ude80\/"]`)); err != nil || string(got) != `- "\U0001F680/"`+"\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// Whoever reads the YAML reads the same texts, numbers and booleans as one who reads the JSON.
func FuzzYAMLOf(f *testing.F) {
	f.Add("true", "2026-01-02", "- x")
	f.Add("~", "0x10", "a: b\r\n\t")
	f.Add("<<", "*a", "\u0085 \u2028")
	f.Add("\u007f\u0080", "\u009f\ufeff", "\ufffe \uffff")
	f.Add("a\U0001f600", "\U0010ffff\ue000", "\u00a0\ufffd\x00\xff")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		document, err := json.Marshal(map[string]any{"a": a, "b": []any{b, c, nil, true, 1.5}, "c": map[string]any{"k": c}})
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(document, &want); err != nil {
			t.Fatal(err)
		}
		text, err := YAMLOf(document)
		if err != nil {
			t.Fatalf("%v for:\n%s", err, document)
		}
		var got any
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s in:\n%s", diff, text)
		}
	})
}
