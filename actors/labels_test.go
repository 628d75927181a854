package actors

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestLabels(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.Rune(), 100, 200, 256), rapid.Just(""))
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOfN(text, text, 0, 20).Draw(t, "labels")
		l := NewLabels(m)
		if got := maps.Collect(l.All()); !maps.Equal(got, m) {
			t.Fatalf("got %q, want %q", got, m)
		}
		var keys []string
		for k, v := range l.All() {
			keys = append(keys, k)
			if got, ok := l.Get(k); !ok || got != v {
				t.Fatalf("%q: %q, %v", k, got, ok)
			}
		}
		if !slices.IsSorted(keys) {
			t.Fatalf("keys %q", keys)
		}
		absent := text.Draw(t, "absent")
		if _, ok := l.Get(absent); ok != (slices.Contains(keys, absent)) {
			t.Fatalf("%q: %v", absent, ok)
		}
	})
}

func TestLabelsAreSmall(t *testing.T) {
	m := map[string]string{"region": "kr", "zone": "seoul-b", "tier": "production", "rack": strings.Repeat("r", 20)}
	if n := len(NewLabels(m)) + int(unsafe.Sizeof(Labels(""))); n > 100 {
		t.Errorf("%d bytes", n)
	}
	if NewLabels(nil) != "" {
		t.Error("no labels take something")
	}
}
