package main

import (
	"fmt"
	"strings"
)

// What a far larger instance would need is worked out from lines through the figures at the sizes that were measured.
const (
	far = 100_000
	// Beyond so many Edges the Control Plane stretches the heartbeats' interval (15 s) so that no more than 4,000 come a
	// second: their CPU stays that of 60,000.
	mostBeating = 4000 * 15
	// descriptorsBeside are those of listeners, HTTP callers, logs and the poller.
	descriptorsBeside = 1000
)

// need is one thing that grows with the fleet.
type need struct {
	text         string
	figure, unit string
	at           float64                        // Edges
	total        func(edges, y float64) float64 // of what was measured, to what grows in a line
	show         func(v float64) string
}

var needs = []need{
	{"memory, hello alone", "IdleHello", bytesEach, far, byEdge, mebibytes},
	{"memory, with a snapshot of each", "IdleSnapshot", bytesEach, far, byEdge, mebibytes},
	{"CPU for heartbeats (stretched beyond 60,000 Edges to 4,000 a second)", "IdleCPU", cpuAMinute, mostBeating, ofAll, percentOfACore},
	{"`/edges`, the first page", "List", timeEach, far, ofAll, milliseconds},
	{"`/edges`, all pages of 1,000", "ListAll", timeEach, far, ofAll, seconds},
	{"`/fleet/summary`", "Summary", timeEach, far, ofAll, milliseconds},
	{"`/fleet/status`, all asked", "Gather", timeEach, far, ofAll, seconds},
	{"all back after a cut", "Storm", timeEach, far, ofAll, seconds},
}

func mebibytes(v float64) string      { return thousands(v/(1<<20)) + " MiB" }
func milliseconds(v float64) string   { return thousands(v*toMillis) + " ms" }
func seconds(v float64) string        { return thousands(v*toSecs) + " s" }
func percentOfACore(v float64) string { return thousands(v/60*100) + "% of a core" }

// line is the straight one through what grows, of the Control Plane.
func (n need) line(r *results) (straight, bool) {
	points := r.line(n.figure, n.unit, plane)
	for i, p := range points {
		points[i].y = n.total(p.x, p.y)
	}
	return fit(points)
}

// outlook is what 100,000 Edges on one instance would need, in Markdown; empty where too little was measured for a line.
func (r *results) outlook() string {
	var b strings.Builder
	for _, n := range needs {
		l, ok := n.line(r)
		if !ok {
			continue
		}
		needed, growth := n.show(l.at(n.at)), fmt.Sprintf("%s and %s per 1,000 Edges", n.show(l.start), n.show(1000*l.slope))
		if l.slope <= 0 {
			needed, growth = "it doesn't grow", ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f%% |\n", n.text, needed, growth, 100*l.off)
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("| at %s Edges | needed | the line | a point lies off by up to |\n|---|---|---|---|\n", whole(far)) + b.String() +
		fmt.Sprintf("| descriptors (`LimitNOFILE`) | %s | one an Edge, and %s | |\n", whole(far+descriptorsBeside), whole(descriptorsBeside))
}
