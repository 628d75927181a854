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

// clipNote is room for what clip says of the rest.
const clipNote = 40

// clip shortens text to at most max bytes, on a character's border, and says how much is missing. What was clipped once
// stays as it is.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	cut := max - clipNote
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:cut], len(s)-cut)
}
