//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// failure is something that did not hold.
type failure struct {
	Fault  *fault   `json:"fault"`  // nil: at the end of the run
	Beside []fault  `json:"beside"` // that were under way at the same time
	What   string   `json:"what"`
	Log    []string `json:"log"` // the daemon's last lines then
	// HeldUpMS is the longest time in the last ten seconds that this process itself was not run for: on a machine that is so busy,
	// the Control Plane may be no more to blame.
	HeldUpMS float64 `json:"held_up_ms"`
}

// recovery is how long it took from the end of each fault of a kind until all was well.
type recovery struct {
	Kind     faultKind `json:"kind"`
	Faults   int       `json:"faults"`
	MedianMS float64   `json:"median_ms"`
	MaxMS    float64   `json:"max_ms"`
}

// chaosReport is what came out of a run.
type chaosReport struct {
	Again       string            `json:"again"` // the command line that does this plan
	Plan        plan              `json:"plan"`
	TookS       float64           `json:"took_s"`
	Interrupted bool              `json:"interrupted"`
	Dead        bool              `json:"dead"` // the daemon ended by itself, and the run with it
	OK          bool              `json:"ok"`
	Done        int               `json:"done"` // faults
	Recoveries  []recovery        `json:"recoveries"`
	Asked       map[string]uint64 `json:"asked"`      // requests that were answered as they must be, by kind
	Excused     map[string]uint64 `json:"excused"`    // that failed because of a fault
	Judged      int               `json:"judged"`     // operations, before each kill of the daemon and at the end
	Operations  map[string]int    `json:"operations"` // of those, by operation and state
	Before      figures           `json:"before"`
	After       figures           `json:"after"`
	Failures    []failure         `json:"failures"`
	took        map[faultKind][]time.Duration
}

func newChaosReport(p plan) *chaosReport {
	return &chaosReport{Plan: p, Asked: map[string]uint64{}, Excused: map[string]uint64{}, Operations: map[string]int{},
		Failures: []failure{}, took: map[faultKind][]time.Duration{}}
}

// judge adds up, and says whether all held.
func (r *chaosReport) judge() {
	r.Recoveries = r.Recoveries[:0]
	for _, kind := range slices.Sorted(maps.Keys(r.took)) {
		took := slices.Sorted(slices.Values(r.took[kind]))
		r.Recoveries = append(r.Recoveries, recovery{Kind: kind, Faults: len(took), MedianMS: milliseconds(took[len(took)/2]),
			MaxMS: milliseconds(took[len(took)-1])})
	}
	r.OK = len(r.Failures) == 0 && r.Done == len(r.Plan.Faults) && !r.Interrupted
}

// addRecords adds what was found of the records of one life of the daemon.
func (r *chaosReport) addRecords(j *judged) {
	for name, n := range j.counts {
		r.Operations[name] += n
		r.Judged += n
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// grown names what grew in the books since they were last looked at, and by how much.
func grown(before, now map[string]uint64) string {
	var more []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if n := now[name]; n > before[name] {
			more = append(more, fmt.Sprintf("%s: %d", name, n-before[name]))
		}
	}
	return strings.Join(more, "; ")
}

// figures are what a daemon holds.
type figures struct {
	Descriptors int `json:"descriptors"`
	Goroutines  int `json:"goroutines"`
}

// spare is how much more a daemon may hold at the end than at its start. It makes nothing that it keeps with the first load; what may be
// open is a request or two of this side's, and what the runtime does by itself.
const spare = 4

func (f figures) atMost(before figures) bool {
	return f.Descriptors <= before.Descriptors && f.Goroutines <= before.Goroutines
}

// leak says what is held that wasn't before, or "".
func (f figures) leak(before figures) string {
	var leaks []string
	if f.Descriptors > before.Descriptors+spare {
		leaks = append(leaks, fmt.Sprintf("%d descriptors, %d at the start", f.Descriptors, before.Descriptors))
	}
	if f.Goroutines > before.Goroutines+spare {
		leaks = append(leaks, fmt.Sprintf("%d goroutines, %d at the start", f.Goroutines, before.Goroutines))
	}
	return strings.Join(leaks, "; ")
}
