package main

import (
	"context"
	"slices"
	"strings"
	"time"
)

// figure is one thing that is measured of a rig.
type figure struct {
	name string // of the benchmark
	per  []unit // of the values, in their order
	// measure gives how many operations the values are of.
	measure func(context.Context, *rig) (operations int, values []float64, err error)
	// again does once more what the figure is of, for profiles; nil: measure does.
	again func(context.Context, *rig) (operations int, err error)
	holds bool // it is of memory, and so its profile is the heap's
	// alike: the baseline does the same work by Edge or by operation, however many Edges there are. If the costs of both servers grow,
	// it is then the machine's doing.
	alike bool
	// turns are how often it is measured in a round; 0: once. What takes a second has a median in one round already.
	turns int
	// atOnce: the servers need not take turns, because measuring one doesn't disturb the other.
	atOnce bool
}

// unit is the one of this name, which the figure has.
func (f figure) unit(name string) unit {
	return f.per[slices.IndexFunc(f.per, func(u unit) bool { return u.name == name })]
}

func (f figure) turnsARound() int { return max(1, f.turns) }

// repeat gives how many operations it did.
func (f figure) repeat(ctx context.Context, s *rig) (operations int, err error) {
	if f.again != nil {
		return f.again(ctx, s)
	}
	operations, _, err = f.measure(ctx, s)
	return operations, err
}

// unit is what a value is, for benchstat and for people.
type unit struct {
	name  string
	label string
	scale float64 // of the value to what the label says
	// total turns a value into the cost that must not grow faster than the number of Edges; nil: it is no cost of Edges.
	total func(edges, value float64) float64
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
	lostOf         = "lost/op"
)

// someTurns are those of what takes a second or so.
const someTurns = 3

const (
	toMicros = 1e-3
	toMillis = 1e-6
	toSecs   = 1e-9
	toMiB    = 1.0 / (1 << 20)
	asItIs   = 1
)

// byEdge is for the cost of one Edge, or of one operation that each Edge makes equally often however many Edges there are.
func byEdge(edges, value float64) float64 { return edges * value }

// ofAll is for what goes over the whole fleet.
func ofAll(_, value float64) float64 { return value }

// timeOf is how long a rate takes to go through the fleet.
func timeOf(edges, rate float64) float64 { return edges / rate }

// goroutinesOf counts fewer than someGoroutines as that many: one more that is still ending is no growth.
func goroutinesOf(edges, each float64) float64 { return edges * max(each, someGoroutines) }

// figures are all of them, in the order in which they are measured: memory first, what disturbs a rig last.
func figures() []figure {
	return []figure{
		idleHello, helloRate, idleSnapshot, idleCPU, heartbeatCPU, pushCPU,
		statusCPU, commandCPU, eventCPU, listTime, listAllTime, summaryTime, gatherTime, reconnectStorm,
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

// many is about so many operations in whole rounds over so many Edges, and two rounds at least.
func many(about, edges int) (rounds int) {
	const fewest = 2
	return max(fewest, about/edges)
}
