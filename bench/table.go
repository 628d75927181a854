package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// table is for people: a line for each unit and size, with both servers' medians, how far their repeats lie apart, and the
// Control Plane's by the baseline's, turn by turn.
func (r *results) table(figures []figure) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tEdges\tControl Plane\tbaseline\tratio\n")
	for _, f := range figures {
		for _, u := range f.per {
			label := u.label
			for _, n := range r.sizes() {
				ours, ok1 := r.at(place{f.name, u.name, n, plane})
				theirs, ok2 := r.at(place{f.name, u.name, n, baseline})
				if !ok1 && !ok2 {
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", label, whole(n), u.spread(ours, ok1), u.spread(theirs, ok2), cmp.Or(r.ratioText(f, u, n), "–"))
				label = ""
			}
		}
	}
	_ = w.Flush() // to memory
	return b.String()
}

func (u unit) spread(s statistic, measured bool) string {
	text := u.shown(s.median, measured)
	if s.repeats > 1 {
		text += fmt.Sprintf(" ±%.0f%%", 100*s.spread)
	}
	return text
}

// shown is a value in the unit of the label.
func (u unit) shown(v float64, measured bool) string {
	if !measured {
		return "–"
	}
	return thousands(v * u.scale)
}

// ratioText is empty where there is no ratio.
func (r *results) ratioText(f figure, u unit, edges int) string {
	ratio, ok := r.ratio(f.name, u.name, edges)
	if !ok {
		return ""
	}
	return fixed(ratio, 2)
}

// thousands writes a number in as many digits as people read, with commas.
func thousands(v float64) string {
	size := max(v, -v)
	digits := 0
	switch {
	case size == 0:
	case size < 1:
		digits = 3
	case size < 10:
		digits = 2
	case size < 100:
		digits = 1
	}
	return fixed(v, digits)
}

// fixed writes a number with so many digits after the point, with commas before it.
func fixed(v float64, digits int) string { return commas(strconv.FormatFloat(v, 'f', digits, 64)) }

func whole(n int) string { return commas(strconv.Itoa(n)) }

func commas(number string) string {
	digits, sign := strings.CutPrefix(number, "-")
	sign = sign && strings.ContainsAny(digits, "123456789") // what is a little under 0 is 0
	digits, rest, fraction := strings.Cut(digits, ".")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if fraction {
		digits += "." + rest
	}
	if sign {
		digits = "-" + digits
	}
	return digits
}
