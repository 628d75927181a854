//go:build linux

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// column is one of those of a sample.
type column struct {
	name string
	unit float64
	form string
}

// columns are in a sample's order.
var columns = [4]column{
	{"live heap, MiB", 1 << 20, "%.1f"},
	{"goroutines", 1, "%.0f"},
	{"descriptors", 1, "%.0f"},
	{"resident, MiB", 1 << 20, "%.1f"},
}

// sample is what the daemon held at one moment.
type sample struct {
	AtS    float64    `json:"at_s"`
	Values [4]float64 `json:"values"` // bytes of live heap, goroutines, descriptors, resident bytes
	// HeldUpMS is the longest time since the sample before that this machine kept the load's own process from running.
	HeldUpMS float64 `json:"held_up_ms"`
	Failed   string  `json:"failed"` // what came into the books since the sample before
}

func (s sample) text() string {
	var all []string
	for i, m := range columns {
		all = append(all, m.name+" "+m.show(s.Values[i]))
	}
	if s.Failed != "" {
		all = append(all, fmt.Sprintf("failed: %s (held up for %.0f ms)", s.Failed, s.HeldUpMS))
	}
	return strings.Join(all, ", ")
}

func (m column) show(v float64) string { return fmt.Sprintf(m.form, v/m.unit) }

// trend compares the first third of what counts with the last.
type trend struct {
	First   float64 `json:"first"` // the median
	Last    float64 `json:"last"`
	Percent float64 `json:"percent"`
	Flat    bool    `json:"flat"`
}

// flatPercent is how much a measure may move from the first third to the last.
const flatPercent = 5

// trendOf gives that of the values; they must be at least three.
func trendOf(values []float64) trend {
	third := len(values) / 3
	t := trend{First: median(values[:third]), Last: median(values[len(values)-third:])}
	t.Percent = 100 * (t.Last - t.First) / t.First
	t.Flat = math.Abs(t.Percent) <= flatPercent
	return t
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// requests are what became of those of one kind.
type requests struct {
	Due     float64 `json:"due"` // by their rate, and the time in which there was no pause; 0: they have none
	Sent    uint64  `json:"sent"`
	OK      uint64  `json:"ok"`       // answered as they must be
	Excused uint64  `json:"excused"`  // failed when their Edge had left
	NotSent uint64  `json:"not_sent"` // due in a pause, or when too much was under way
}

const (
	// leastPercent of what is due must be answered as it must be.
	leastPercent = 90
	// excusedPercent is how much of what was sent may be excused, where churnPercent of the Edges leave in a second and are away for one.
	excusedPercent = 5
	// few are no matter: in a short run that many can be due while a pause begins or ends, or be excused at one Edge that leaves.
	few = 10
)

// mostExcused is how many may be. How many requests are at an Edge that leaves is left to chance, of which five standard deviations are
// borne; in a whole run those are next to nothing.
func (r requests) mostExcused() float64 {
	expected := float64(r.Sent) * excusedPercent / 100
	return max(few, expected+5*math.Sqrt(expected))
}

// short tells whether less was seen than must be, of what was due.
func short(due float64, seen uint64) bool {
	missed := due - float64(seen)
	return missed > few && missed > due*(100-leastPercent)/100
}

// wrong says what is wrong with them, or "".
func (r requests) wrong() string {
	switch {
	case short(r.Due, r.OK):
		return fmt.Sprintf("%d of %.0f that were due were answered as they must be", r.OK, r.Due)
	case float64(r.Excused) > r.mostExcused():
		return fmt.Sprintf("%d of %d were excused", r.Excused, r.Sent)
	}
	return ""
}

// soakReport is what came out of a run.
type soakReport struct {
	StartedAt   time.Time           `json:"started_at"`
	Edges       int                 `json:"edges"`
	DurationS   float64             `json:"duration_s"`
	WarmS       float64             `json:"warm_s"` // what is before it doesn't count
	Commands    int                 `json:"commands_per_second"`
	Statuses    int                 `json:"statuses_per_second"`
	Readers     int                 `json:"live_readers"`
	PerEdge     float64             `json:"commands_per_edge"` // on average, when samples began to count
	EdgeRecords int                 `json:"edge_records"`      // operations that the daemon keeps of an Edge
	Full        bool                `json:"buffers_full"`      // when samples began to count
	Interrupted bool                `json:"interrupted"`
	Samples     []sample            `json:"samples"`
	Trends      []trend             `json:"trends"` // of each measure; none when too little was seen
	Books       map[string]uint64   `json:"books"`
	AskedS      float64             `json:"asked_s"` // the time without the pauses
	Requests    map[string]requests `json:"requests"`
	ChurnDue    float64             `json:"churn_due"` // Edges that were to leave and come back, by their rate
	CameBack    uint64              `json:"came_back"` // those that did
	Missing     int                 `json:"missing"`   // Edges that didn't
	Broken      []string            `json:"broken"`    // what the daemon printed and no daemon may
	Wrong       []string            `json:"wrong"`     // what did not hold
	OK          bool                `json:"ok"`
}

func newSoakReport(o soakOptions) *soakReport {
	warm := min(warmLongest, o.duration/2)
	return &soakReport{StartedAt: time.Now().UTC(), Edges: o.edges, DurationS: o.duration.Seconds(),
		WarmS: warm.Seconds(), Commands: o.rates.commands, Statuses: o.rates.status, Readers: o.rates.readers,
		ChurnDue: o.churn() * o.duration.Seconds(), PerEdge: o.perEdge(warm), EdgeRecords: o.edgeRecords(), Full: o.fills(warm),
		Samples: []sample{}, Trends: []trend{}, Requests: map[string]requests{}, Wrong: []string{}}
}

// judge says whether all held.
func (r *soakReport) judge() {
	var counted []sample
	for _, s := range r.Samples {
		if s.AtS > r.WarmS {
			counted = append(counted, s)
		}
	}
	switch {
	case r.Interrupted:
		r.Wrong = append(r.Wrong, "it was interrupted")
	case len(counted) < 3:
		r.Wrong = append(r.Wrong, "too little was seen")
	}
	for i := 0; i < len(columns) && len(counted) >= 3; i++ {
		values := make([]float64, len(counted))
		for j, s := range counted {
			values[j] = s.Values[i]
		}
		t := trendOf(values)
		r.Trends = append(r.Trends, t)
		if !t.Flat {
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s moved by %+.1f%%", columns[i].name, t.Percent))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Requests)) {
		if wrong := r.Requests[kind].wrong(); wrong != "" {
			r.Wrong = append(r.Wrong, kind+": "+wrong)
		}
	}
	if short(r.ChurnDue, r.CameBack) {
		r.Wrong = append(r.Wrong, fmt.Sprintf("Edges left and came back %d times, and %.0f were due", r.CameBack, r.ChurnDue))
	}
	if r.Missing > 0 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("Edges that didn't come back: %d", r.Missing))
	}
	if wrong := grown(nil, r.Books); wrong != "" {
		r.Wrong = append(r.Wrong, wrong)
	}
	if len(r.Broken) > 0 {
		r.Wrong = append(r.Wrong, "the daemon printed: "+r.Broken[0])
	}
	r.OK = len(r.Wrong) == 0
}

// text is the report as a page of Markdown.
func (r *soakReport) text() string {
	var b strings.Builder
	lasts := time.Duration(r.DurationS * float64(time.Second))
	fmt.Fprintf(&b, "# Soak\n\nWritten by `go run ./endure soak`; what it does and what must hold is in [resilience.md](resilience.md#soak).\n\n")
	fmt.Fprintf(&b, "%s: %d Edges for %v, which left and came back %d times (%.0f were due, %d%% of them a second); %d commands and %d status\n"+
		"reads a second, live readers: %d. Samples count from %v on%s.\n\n", r.StartedAt.Format(time.DateOnly), r.Edges, lasts,
		r.CameBack, r.ChurnDue, churnPercent, r.Commands, r.Statuses, r.Readers, time.Duration(r.WarmS*float64(time.Second)), r.filled())
	fmt.Fprintf(&b, "| | first third | last third | moved | at most ±%d%% |\n|---|---|---|---|---|\n", flatPercent)
	for i, t := range r.Trends {
		fmt.Fprintf(&b, "| %s | %s | %s | %+.1f%% | %s |\n", columns[i].name, columns[i].show(t.First), columns[i].show(t.Last), t.Percent, yes(t.Flat))
	}
	fmt.Fprintf(&b, "\nMedians of each third.\n\n| | due | sent | answered as they must be, at least %d%% of those due | excused, at most %d%% of those sent | "+
		"not sent in the pauses |\n|---|---|---|---|---|---|\n", leastPercent, excusedPercent)
	for _, kind := range slices.Sorted(maps.Keys(r.Requests)) {
		n := r.Requests[kind]
		due := "–"
		if n.Due > 0 {
			due = fmt.Sprintf("%.0f", n.Due)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d |\n", kind, due, n.Sent, n.OK, n.Excused, n.NotSent)
	}
	b.WriteString("\nOf the events, those that the Edges said are sent, and each is due to every live reader.\n")
	fmt.Fprintf(&b, "\nLost %d, duplicated %d, misrouted %d, executed twice %d, out of order %d, skipped %d, overdue %d.\n\n", r.Books["lost"],
		r.Books["duplicated"], r.Books["misrouted"], r.Books["executed twice"], r.Books["out of order"], r.Books["skipped"], r.Books["overdue"])
	if r.OK {
		b.WriteString("**All held.**\n\n")
	} else {
		fmt.Fprintf(&b, "**Did not hold:** %s.\n\n", strings.Join(r.Wrong, "; "))
	}
	b.WriteString("| after |")
	for _, m := range columns {
		fmt.Fprintf(&b, " %s |", m.name)
	}
	b.WriteString(" held up, ms | failed |\n|---|---|---|---|---|---|---|\n")
	for _, s := range r.Samples {
		fmt.Fprintf(&b, "| %v |", time.Duration(s.AtS*float64(time.Second)).Round(time.Second))
		for i, v := range s.Values {
			fmt.Fprintf(&b, " %s |", columns[i].show(v))
		}
		fmt.Fprintf(&b, " %.0f | %s |\n", s.HeldUpMS, s.Failed)
	}
	return b.String()
}

// filled says that the daemon's buffers were full when samples began to count; empty if they weren't, as in a short run.
func (r *soakReport) filled() string {
	if !r.Full {
		return ""
	}
	return fmt.Sprintf(", when the daemon's buffers were full: an Edge had been sent %.0f commands on average, of which %d are kept",
		r.PerEdge, r.EdgeRecords)
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}
