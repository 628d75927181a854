package actors

import (
	"fmt"
	"unicode/utf8"
)

// What an Edge says is kept for long, so its length is bounded; what is cut says so.
const (
	maxMessageBytes = 4 << 10
	maxNameBytes    = 256
)

// clip shortens text to about max bytes, on a character's border, and says how much is missing.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	cut := max
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:cut], len(s)-cut)
}
