//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// text is for people, with what it takes to see it again.
func (f *failure) text(seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "DOES NOT HOLD (seed %d): %s\n", seed, f.What)
	if f.Fault != nil {
		fmt.Fprintf(&b, "  fault %s\n", f.Fault.text())
	} else {
		b.WriteString("  at the end of the run\n")
	}
	for i := range f.Beside {
		fmt.Fprintf(&b, "  beside %s\n", f.Beside[i].text())
	}
	fmt.Fprintf(&b, "  in the last 10 s this machine held its own processes up for up to %.0f ms\n", f.HeldUpMS)
	b.WriteString("  the daemon's last lines:\n")
	for _, line := range f.Log {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

func (f *fault) text() string {
	return fmt.Sprintf("%d, %s, at %v for %v, size %d, %d Edges %v", f.Number, f.Kind, f.At.Round(time.Millisecond),
		f.For.Round(time.Millisecond), f.Size, len(f.Edges), f.Edges)
}

// text is the report for people.
func (r *chaosReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "chaos: seed %d, %d of %d faults in %.0f s\n", r.Plan.Seed, r.Done, len(r.Plan.Faults), r.TookS)
	t := table.NewWriter()
	t.AppendHeader(table.Row{"fault", "times", "steady after, median ms", "max ms"})
	for _, k := range r.Recoveries {
		t.AppendRow(table.Row{k.Kind, k.Faults, fmt.Sprintf("%.0f", k.MedianMS), fmt.Sprintf("%.0f", k.MaxMS)})
	}
	b.WriteString(t.Render() + "\n")
	fmt.Fprintf(&b, "answered: %s\nexcused by a fault: %s\n", counts(r.Asked), counts(r.Excused))
	fmt.Fprintf(&b, "operations judged: %d (%s)\n", r.Judged, counts(r.Operations))
	fmt.Fprintf(&b, "descriptors %d at the start, %d at the end; goroutines %d, %d\n", r.Before.Descriptors, r.After.Descriptors,
		r.Before.Goroutines, r.After.Goroutines)
	for i := range r.Failures {
		b.WriteString(r.Failures[i].text(r.Plan.Seed))
	}
	switch {
	case r.OK:
		b.WriteString("all held\n")
	case r.Interrupted:
		b.WriteString("interrupted\n")
	default:
		fmt.Fprintf(&b, "%d things did not hold; the same plan again: %s\n", len(r.Failures), r.Again)
	}
	return b.String()
}

func counts[N int | uint64](of map[string]N) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %d", name, of[name]))
	}
	return strings.Join(all, ", ")
}
