// Package text makes text of others fit to be sent, and to be logged.
package text

import (
	"fmt"
	"strings"
)

// Valid is a string that can be sent: a message with bytes that aren't UTF-8 can't be encoded at all, and one bad name from a
// backend must not silence a site.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// ValidMap is a map that can be sent; nil when it is empty.
func ValidMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	valid := make(map[string]string, len(m))
	for k, v := range m {
		valid[Valid(k)] = Valid(v)
	}
	return valid
}

// Clip is the beginning of what somebody said, about as many bytes as asked.
func Clip(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return Valid(s)
}

// Name is a value of one of the protocol's enums for people: the enum's own prefix taken off, in small letters.
func Name(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}
