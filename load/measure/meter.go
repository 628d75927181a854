// Package measure counts and times what a load run does, as a whole and second by second, and watches the server's process
// where it runs on this machine.
package measure

import (
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What a histogram can tell: from a microsecond to two minutes, to three digits. Longer times count as two minutes.
const (
	shortest = int64(1)
	longest  = int64(2 * time.Minute / time.Microsecond)
	digits   = 3
)

// newHistogram makes one in microseconds.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// Outcome is how a request ended.
type Outcome struct {
	// Kind is "" for what went well, else a word for what didn't.
	Kind string
	// Excused: the Edge was told to misbehave, or its link was cut on purpose, so that this is no fault of the server.
	Excused bool
	// Untimed: how long it took says nothing.
	Untimed bool
}

// Meter counts one kind of request. It may be used from any goroutine.
type Meter struct {
	mu       sync.Mutex
	counts   Counts
	whole    *hdrhistogram.Histogram
	interval *hdrhistogram.Histogram
}

// Counts are a Meter's numbers so far.
type Counts struct {
	Sent    uint64 // begun
	OK      uint64
	Errors  uint64 // not excused
	Excused uint64
	NotSent uint64            // due, but this side had too much under way
	Kinds   map[string]uint64 // errors by kind
	Excuses map[string]uint64 // excused ones by kind
}

// NewMeter makes an empty one.
func NewMeter() *Meter {
	return &Meter{whole: newHistogram(), interval: newHistogram(), counts: Counts{Kinds: map[string]uint64{}, Excuses: map[string]uint64{}}}
}

// Begin counts a request that is sent.
func (m *Meter) Begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Sent++
}

// Skip counts a request that was due and is not sent.
func (m *Meter) Skip() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.NotSent++
}

// End counts how a request ended. took counts from the moment it was due. Excused ones are not timed; errors are: times
// without those that timed out would flatter.
func (m *Meter) End(took time.Duration, o Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case o.Kind == "":
		m.counts.OK++
	case o.Excused:
		m.counts.Excused++
		m.counts.Excuses[o.Kind]++
		return
	default:
		m.counts.Errors++
		m.counts.Kinds[o.Kind]++
	}
	if o.Untimed {
		return
	}
	us := min(max(took.Microseconds(), shortest), longest)
	_ = m.whole.RecordValue(us) // within its range
	_ = m.interval.RecordValue(us)
}

// Counts gives the numbers so far.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Kinds, c.Excuses = maps.Clone(c.Kinds), maps.Clone(c.Excuses)
	return c
}

// Histogram gives a copy of all times so far.
func (m *Meter) Histogram() *hdrhistogram.Histogram {
	m.mu.Lock()
	defer m.mu.Unlock()
	return hdrhistogram.Import(m.whole.Export())
}

// Interval gives the numbers so far, and the quantiles of the times since it was last called.
func (m *Meter) Interval() (c Counts, p50, p99 time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p50, p99 = quantile(m.interval, 50), quantile(m.interval, 99)
	m.interval.Reset()
	c = m.counts
	c.Kinds, c.Excuses = nil, nil
	return c, p50, p99
}

func quantile(h *hdrhistogram.Histogram, percent float64) time.Duration {
	return time.Duration(h.ValueAtPercentile(percent)) * time.Microsecond
}
