package configs

import (
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad: no file makes the decoder fall, and what it takes is printed so that it loads again as
// the same value.
func FuzzLoad(f *testing.F) {
	for _, file := range []string{"control-plane.yaml", "edge.yaml", "node.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add([]byte(uncomment(text)))
	}
	for _, text := range []string{
		"a: &a [*a]\n", "<<: {a: b}\n", "---\n---\n", "edges: {max_in_flight: 0x10}\n", "? [a]\n: b\n",
		"auth: {edges: [{edge_id: 'a*', token_sha256: " + hashA + "}]}\n",
		"edge: {labels: {null: ~, 'true': 'no', '': ' x '}}\n", "client: {allowed_origins: ['http://a']}\n",
		"server: {id: \"\\u2028\"}\n", "log: !!map\n", "redis: {key_prefix: '# - : {'}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzDocument(t, data, func() any { return controlPlaneDefaults(true) })
		fuzzDocument(t, data, func() any { return edgeDefaults() })
		fuzzDocument(t, data, func() any { return nodeDefaults() })
	})
}

func fuzzDocument(t *testing.T, data []byte, defaults func() any) {
	decode := func(data []byte) (any, error) {
		document, r := defaults(), newReport()
		r.decodeFile("fuzz.yaml", data, reflect.ValueOf(document).Elem())
		return document, r.err()
	}
	document, err := decode(data)
	if err != nil {
		_ = err.Error()
		return
	}
	printed, err := encode(document, func(secret string) string { return secret })
	if err != nil {
		t.Fatalf("%q can't be printed: %v", data, err)
	}
	again, err := decode(printed)
	if err != nil {
		t.Fatalf("%q is printed as\n%s\nwhich fails:\n%v", data, printed, err)
	}
	if diff := cmp.Diff(document, again); diff != "" {
		t.Errorf("%q is printed as\n%s\n%s", data, printed, diff)
	}
}
