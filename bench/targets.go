package main

import (
	"fmt"
	"strings"
)

// target is what the Control Plane is held to.
type target struct {
	text         string
	figure, unit string
	edges        int
	limit        float64 // in the unit, or by the baseline's
	byBaseline   bool
	atLeast      bool // else at most
}

const someGoroutines = 0.005 // by Edge, of what is still ending

var targets = []target{
	{text: "2.5 KiB an idle Edge", figure: "IdleHello", unit: bytesEach, edges: 10_000, limit: 2560},
	{text: "no goroutine an idle Edge", figure: "IdleHello", unit: goroutinesEach, edges: 10_000, limit: someGoroutines},
	{text: "CPU of a status round trip at most 0.9 of the baseline's", figure: "Status", unit: cpuEach, edges: 1_000, limit: 0.9, byBaseline: true},
	{text: "idle CPU at most the baseline's", figure: "IdleCPU", unit: cpuAMinute, edges: 10_000, limit: 1, byBaseline: true},
	{text: "a gather of 10,000 within 0.6 s", figure: "Gather", unit: timeEach, edges: 10_000, limit: 0.6e9},
	{text: "a summary of 19,000 within 15 ms", figure: "Summary", unit: timeEach, edges: 19_000, limit: 15e6},
	{text: "9,000 hellos a second", figure: "Hello", unit: rateOf, edges: 10_000, limit: 9_000, atLeast: true},
	{text: "1,000 events a second to 100 readers under half a core", figure: "Event", unit: coresOf, edges: 1_000, limit: 0.5},
}

// verdict tells whether a target is held, with what was measured. What wasn't measured at the target's size is neither.
func (t target) verdict(r *results) string {
	ours, ok := r.at(place{t.figure, t.unit, t.edges, plane})
	value, of := ours.median, t.unit
	if t.byBaseline {
		theirs, measured := r.at(place{t.figure, t.unit, t.edges, baseline})
		ok = ok && measured && theirs.median != 0
		value, of = value/theirs.median, "of the baseline's"
	}
	switch {
	case !ok:
		return fmt.Sprintf("not measured (it takes %s Edges)", thousands(float64(t.edges)))
	case t.atLeast == (value >= t.limit) || value == t.limit:
		return fmt.Sprintf("held: %s %s", number(value), of)
	}
	return fmt.Sprintf("NOT HELD: %s %s, %s is wanted", number(value), of, number(t.limit))
}

func verdicts(r *results) string {
	var b strings.Builder
	for _, t := range targets {
		fmt.Fprintf(&b, "  %-58s %s\n", t.text, t.verdict(r))
	}
	return b.String()
}
