package main

import "fmt"

// target is what the Control Plane is held to.
type target struct {
	text         string
	figure, unit string
	edges        int
	limit        float64 // in the unit, or by the baseline's
	byBaseline   bool
	atLeast      bool // else at most
	show         func(float64) string
}

const someGoroutines = 0.005 // by Edge, of what is still ending

var targets = []target{
	{text: "2.5 KiB an idle Edge", figure: "IdleHello", unit: bytesEach, edges: 10_000, limit: 2560, show: in("bytes")},
	{text: "no goroutine an idle Edge", figure: "IdleHello", unit: goroutinesEach, edges: 10_000, limit: someGoroutines, show: in("goroutines")},
	{text: "CPU of a status round trip at most 0.9 of the baseline's", figure: "Status", unit: cpuEach, edges: 10_000, limit: 0.9, byBaseline: true, show: in("of the baseline's")},
	{text: "idle CPU at most the baseline's", figure: "IdleCPU", unit: cpuAMinute, edges: 10_000, limit: 1, byBaseline: true, show: in("of the baseline's")},
	{text: "a gather of 10,000 within 0.6 s", figure: "Gather", unit: timeEach, edges: 10_000, limit: 0.6e9, show: seconds},
	{text: "a summary of 19,000 within 15 ms", figure: "Summary", unit: timeEach, edges: 19_000, limit: 15e6, show: milliseconds},
	{text: "9,000 hellos a second", figure: "Hello", unit: rateOf, edges: 10_000, limit: 9_000, atLeast: true, show: in("a second")},
	{text: "1,000 events a second to 100 readers under half a core", figure: "Event", unit: cpuEach, edges: 10_000, limit: 0.5e9 / eventsASecond, show: cores},
}

// cores is how many cores the events of a second take. Only CPU counts, so the wait for readers at the end makes no difference.
func cores(cpuEach float64) string { return in("cores")(cpuEach / 1e9 * eventsASecond) }

func in(unit string) func(float64) string {
	return func(v float64) string { return thousands(v) + " " + unit }
}

const losslessWanted = "no reader loses an event"

// lossless tells whether the Control Plane's readers saw all, each time and at each size.
func (r *results) lossless() verdict {
	v := verdict{losslessWanted, notMeasured, "it takes the events"}
	for _, n := range r.sizes() {
		for _, lost := range r.samples[place{eventCPU.name, lostOf, n, plane}] {
			if v.outcome == notMeasured {
				v = verdict{losslessWanted, held, "none was lost"}
			}
			if lost != 0 {
				return verdict{losslessWanted, notHeld, fmt.Sprintf("with %s Edges %s of %d readers missed one, on average", whole(n), thousands(lost), liveReaders)}
			}
		}
	}
	return v
}

// verdict tells whether a target is held, with what was measured. What wasn't measured at the target's size is neither.
func (t target) verdict(r *results) verdict {
	ours, ok := r.at(place{t.figure, t.unit, t.edges, plane})
	value := ours.median
	if t.byBaseline {
		value, ok = r.ratio(t.figure, t.unit, t.edges)
	}
	switch {
	case !ok:
		return verdict{t.text, notMeasured, fmt.Sprintf("it takes %s Edges", whole(t.edges))}
	case t.atLeast && value >= t.limit, !t.atLeast && value <= t.limit:
		return verdict{t.text, held, t.show(value)}
	}
	return verdict{t.text, notHeld, t.show(value)}
}
