package main

import (
	"context"
	"strings"
	"time"
)

// figure is one thing that is measured of a rig.
type figure struct {
	name string // of the benchmark
	once bool   // it is measured once a rig, because it takes long or doesn't come back
	per  []unit // of the values, in their order
	// measure gives how many operations the values are of.
	measure func(context.Context, *rig) (operations int, values []float64, err error)
}

// unit is what a value is, for benchstat and for people.
type unit struct {
	name  string
	label string
	scale float64 // of the value to what the label says
}

const (
	bytesEach      = "B/edge"
	goroutinesEach = "goroutines/edge"
	emptyBytes     = "B-empty"
	cpuEach        = "cpu-ns/op"
	cpuEdge        = "cpu-ns/edge"
	cpuAMinute     = "cpu-s/min"
	timeEach       = "ns/op"
	rateOf         = "op/s"
	coresOf        = "cores"
	lostOf         = "lost/op"
)

const (
	toMicros = 1e-3
	toMillis = 1e-6
	toSecs   = 1e-9
	toMiB    = 1.0 / (1 << 20)
	asItIs   = 1
)

// figures are all of them, in the order in which a rig bears them: memory first, what disturbs it last.
func figures() []figure {
	return []figure{
		idleHello, helloRate, idleSnapshot, idleCPU, heartbeatCPU, pushCPU,
		statusCPU, commandCPU, eventCPU, listTime, summaryTime, gatherTime, reconnectStorm,
	}
}

// chosen are the figures whose names begin with one of the words, whatever their case; no words choose all. The words that
// choose nothing come back too.
func chosen(all []figure, words []string) (some []figure, unknown []string) {
	if len(words) == 0 {
		return all, nil
	}
	used := map[string]bool{}
	for _, f := range all {
		takes := false
		for _, w := range words {
			if strings.HasPrefix(strings.ToLower(f.name), strings.ToLower(w)) {
				takes, used[w] = true, true
			}
		}
		if takes {
			some = append(some, f)
		}
	}
	for _, w := range words {
		if !used[w] {
			unknown = append(unknown, w)
		}
	}
	return some, unknown
}

// each is a time by operation, in nanoseconds.
func each(d time.Duration, operations int) float64 { return float64(d) / float64(operations) }

// many is about so many operations in whole rounds over so many Edges, and a few rounds at least.
func many(about, edges int) (rounds int) {
	const fewest = 4
	return max(fewest, about/edges)
}
