package measure

import "time"

// Sample is how things were at one moment, and what was since the sample before. What wasn't measured is nil.
type Sample struct {
	AtS       float64  `json:"at_s"` // from the beginning of the run
	Phase     string   `json:"phase"`
	Target    int      `json:"target"`
	Connected int      `json:"connected"`
	Status    Rate     `json:"status"`
	Commands  Rate     `json:"commands"`
	Events    Rate     `json:"events"`
	Errors    uint64   `json:"errors"`  // so far
	Excused   uint64   `json:"excused"` // so far
	Resident  *int64   `json:"resident_bytes"`
	CPU       *float64 `json:"cpu_percent"` // of one core
}

// Add adds another process's sample of the same moment; of times, the worst stay. The server is not added: it is one.
func (s *Sample) Add(o Sample) {
	s.Target += o.Target
	s.Connected += o.Connected
	s.Status.add(o.Status)
	s.Commands.add(o.Commands)
	s.Events.add(o.Events)
	s.Errors += o.Errors
	s.Excused += o.Excused
}

func (r *Rate) add(o Rate) {
	r.PerSecond += o.PerSecond
	r.P50, r.P99 = worst(r.P50, o.P50), worst(r.P99, o.P99)
}

func worst(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Rate is one kind of request over the time since the sample before.
type Rate struct {
	PerSecond float64  `json:"per_second"` // that were answered well
	P50       *float64 `json:"p50_ms"`
	P99       *float64 `json:"p99_ms"`
}

// Rater makes Rates of a Meter.
type Rater struct {
	meter  *Meter
	before uint64
}

// NewRater begins to look at a Meter; each Meter can have one.
func NewRater(m *Meter) *Rater { return &Rater{meter: m} }

// Next looks at the time since it was last called, which was that long ago.
func (r *Rater) Next(since time.Duration) (Rate, Counts) {
	c, p50, p99 := r.meter.Interval()
	rate := Rate{PerSecond: float64(c.OK-r.before) / max(since.Seconds(), 1e-3)}
	if p99 > 0 {
		rate.P50, rate.P99 = Millis(p50), Millis(p99)
	}
	r.before = c.OK
	return rate, c
}

// Millis is a time in milliseconds, for reports in which nil is one that wasn't measured.
func Millis(d time.Duration) *float64 {
	return new(float64(d) / float64(time.Millisecond))
}

// Samples keeps those of a run. When there are too many it keeps every other one, so that a run of any length has some
// hundreds.
type Samples struct {
	all  []Sample
	step int // one of this many is kept; 0 counts as 1
	seen int
}

const maxSamples = 1200

// Add keeps a sample, or not.
func (s *Samples) Add(one Sample) {
	step := max(1, s.step)
	keep := s.seen%step == 0
	s.seen++
	if !keep {
		return
	}
	s.all = append(s.all, one)
	if len(s.all) <= maxSamples { // an odd number, so that the newest stays
		return
	}
	half := s.all[:0]
	for i := 0; i < len(s.all); i += 2 {
		half = append(half, s.all[i])
	}
	s.all, s.step, s.seen = half, 2*step, 1
}

// All are those that were kept.
func (s *Samples) All() []Sample { return s.all }
