package main

import (
	"fmt"
	"strings"
)

// growth is what the figures are at each size, as a table in Markdown: each the Control Plane's, and the baseline's after a slash.
func (r *results) growth(figures []figure) string {
	var b strings.Builder
	sizes := r.sizes()
	b.WriteString("| Control Plane / baseline (ratio) |")
	for _, n := range sizes {
		fmt.Fprintf(&b, " %s |", whole(n))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	for _, f := range figures {
		for _, u := range f.per {
			if !r.has(f.name, u.name) {
				continue
			}
			fmt.Fprintf(&b, "| %s |", u.label)
			for _, n := range sizes {
				ours, ok1 := r.at(place{f.name, u.name, n, plane})
				theirs, ok2 := r.at(place{f.name, u.name, n, baseline})
				fmt.Fprintf(&b, " %s / %s%s |", u.shown(ours.median, ok1), u.shown(theirs.median, ok2), ratioOf(ours.median, theirs.median, ok1 && ok2))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// ratioOf is empty where there is none.
func ratioOf(ours, theirs float64, measured bool) string {
	if !measured || theirs == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f)", ours/theirs)
}
