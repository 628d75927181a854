package wire

import (
	"strings"
	"testing"
)

func TestValidEdgeID(t *testing.T) {
	for id, want := range map[string]bool{
		"":                       false,
		"a":                      true,
		"9":                      true,
		"Seoul-1.rack_2:gpu":     true,
		"-a":                     false,
		".a":                     false,
		"_a":                     false,
		":a":                     false,
		"a/b":                    false,
		"a b":                    false,
		"a\n":                    false,
		"a\x00":                  false,
		"é":                      false,
		"aé":                     false,
		strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false,
	} {
		if got := ValidEdgeID(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
