package measure

import (
	"encoding/json"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Tally is what a Meter has counted and timed, as a value that can be added to others and sent to another process.
type Tally struct {
	Counts
	Times *hdrhistogram.Histogram
}

// Tally gives a copy of everything so far.
func (m *Meter) Tally() Tally { return Tally{m.Counts(), m.Histogram()} }

// Add adds another's.
func (t *Tally) Add(o Tally) {
	if t.Times == nil {
		t.Times = newHistogram()
		t.Kinds, t.Excuses = map[string]uint64{}, map[string]uint64{}
	}
	t.Sent += o.Sent
	t.OK += o.OK
	t.Errors += o.Errors
	t.Excused += o.Excused
	t.NotSent += o.NotSent
	addKinds(t.Kinds, o.Kinds)
	addKinds(t.Excuses, o.Excuses)
	t.Times.Merge(o.Times) // all have one range
}

// addKinds adds counts by kind.
func addKinds(to, from map[string]uint64) {
	for kind, n := range from {
		to[kind] += n
	}
}

// tallyJSON has the histogram in its own compressed form.
type tallyJSON struct {
	Counts
	Times []byte
}

// MarshalJSON implements json.Marshaler.
func (t Tally) MarshalJSON() ([]byte, error) {
	times, err := t.Times.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("a histogram: %w", err)
	}
	return json.Marshal(tallyJSON{t.Counts, times})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tally) UnmarshalJSON(b []byte) error {
	var j tallyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	times, err := hdrhistogram.Decode(j.Times)
	if err != nil {
		return fmt.Errorf("a histogram: %w", err)
	}
	t.Counts, t.Times = j.Counts, times
	return nil
}
