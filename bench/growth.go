package main

import (
	"fmt"
	"strings"
)

// growth is what the figures are at each size, as a table in Markdown: each the Control Plane's, and the baseline's after a slash. The
// last column tells how the Control Plane's grows in total.
func (r *results) growth(figures []figure) string {
	var b strings.Builder
	sizes := r.sizes()
	b.WriteString("| Control Plane / baseline (ratio) |")
	for _, n := range sizes {
		fmt.Fprintf(&b, " %s |", whole(n))
	}
	b.WriteString(" grows as |\n|---|" + strings.Repeat("---|", len(sizes)+1) + "\n")
	for _, f := range figures {
		for _, u := range f.per {
			if !r.has(f.name, u.name) {
				continue
			}
			fmt.Fprintf(&b, "| %s |", u.label)
			for _, n := range sizes {
				ours, ok1 := r.at(place{f.name, u.name, n, plane})
				theirs, ok2 := r.at(place{f.name, u.name, n, baseline})
				fmt.Fprintf(&b, " %s / %s", u.shown(ours.median, ok1), u.shown(theirs.median, ok2))
				if ratio := r.ratioText(f, u, n); ratio != "" {
					fmt.Fprintf(&b, " (%s)", ratio)
				}
				b.WriteString(" |")
			}
			fmt.Fprintf(&b, " %s |\n", r.growsAs(f, u))
		}
	}
	return b.String()
}

// growsAs is empty where it can't be told.
func (r *results) growsAs(f figure, u unit) string {
	c, beside := r.curves(f, u)
	switch {
	case c == nil:
		return ""
	case beside == nil:
		return exponentOf(c).String()
	}
	return fmt.Sprintf("%s (%s)", exponentOf(c), exponentOf(beside))
}
