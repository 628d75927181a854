// Package terminal is about what commands show on one.
package terminal

import (
	"strings"
	"unicode"
)

// Clean makes a text from elsewhere safe to show: an Edge must not move the cursor of whoever looks at it.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
