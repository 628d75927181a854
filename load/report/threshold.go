package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Threshold is a condition on one number of a report, such as status.p99<50ms.
type Threshold struct {
	Text   string
	metric string
	op     string
	limit  float64 // in the metric's unit; for share, of 1
	share  bool    // the limit is a percentage of what was sent
}

// Verdict is whether a threshold holds.
type Verdict struct {
	Threshold string `json:"threshold"`
	Value     string `json:"value"` // as people read it; "not measured" fails
	OK        bool   `json:"ok"`
}

// unit is what a metric counts in.
type unit int

const (
	number unit = iota
	milliseconds
	microseconds
	byteCount
	perSecond
)

// metric finds one number in a report: ok is false when it wasn't measured. of is what a share is a share of.
type metric struct {
	unit  unit
	value func(*Report) (v float64, ok bool)
	of    func(*Report) float64 // nil: no share can be told
}

var operators = []string{"<=", ">=", "==", "<", ">"}

// ParseThreshold reads a condition: a metric, one of < <= > >= ==, and a value with the metric's unit (50ms, 200us, 6KiB,
// 5000) or, for errors, a share (0.1%). The error is for people.
func ParseThreshold(text string) (Threshold, error) {
	compact := strings.ReplaceAll(text, " ", "")
	i := strings.IndexAny(compact, "<>=")
	if i <= 0 {
		return Threshold{}, fmt.Errorf("threshold %q has no comparison; expected one such as status.p99<50ms", text)
	}
	t := Threshold{Text: compact, metric: compact[:i]}
	rest := compact[i:]
	for _, op := range operators {
		if value, ok := strings.CutPrefix(rest, op); ok && t.op == "" {
			t.op, rest = op, value
		}
	}
	m, ok := metrics[t.metric]
	switch {
	case t.op == "":
		return Threshold{}, fmt.Errorf("threshold %q: %q is no comparison; expected one of %s", text, rest, strings.Join(operators, " "))
	case !ok:
		return Threshold{}, fmt.Errorf("threshold %q: %q is unknown; expected one of %s", text, t.metric, strings.Join(metricNames(), ", "))
	}
	var err error
	if percent, isShare := strings.CutSuffix(rest, "%"); isShare && m.of != nil {
		t.share = true
		t.limit, err = plainNumber(percent)
		t.limit /= 100
	} else {
		t.limit, err = m.unit.parse(rest)
	}
	if err != nil {
		return Threshold{}, fmt.Errorf("threshold %q: %q is no value for %s; expected one such as %s", text, rest, t.metric, m.unit.example())
	}
	return t, nil
}

func plainNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !(v >= 0 && v < 1e15) { // also what is no number
		err = strconv.ErrRange
	}
	return v, err
}

func (u unit) parse(text string) (float64, error) {
	switch u {
	case milliseconds, microseconds:
		d, err := time.ParseDuration(text)
		if err == nil && d < 0 {
			err = strconv.ErrRange
		}
		if u == milliseconds {
			return float64(d) / float64(time.Millisecond), err
		}
		return float64(d) / float64(time.Microsecond), err
	case byteCount:
		for _, s := range []struct {
			suffix string
			times  float64
		}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
			if digits, ok := strings.CutSuffix(text, s.suffix); ok {
				v, err := plainNumber(digits)
				return v * s.times, err
			}
		}
	}
	return plainNumber(text)
}

func (u unit) example() string {
	return map[unit]string{number: "100", milliseconds: "50ms", microseconds: "200us", byteCount: "10KiB", perSecond: "5000"}[u]
}

func (u unit) format(v float64) string {
	switch u {
	case milliseconds:
		return time.Duration(v * float64(time.Millisecond)).Round(time.Microsecond).String()
	case microseconds:
		return fmt.Sprintf("%.1fµs", v)
	case byteCount:
		return fmt.Sprintf("%.0fB", v)
	case perSecond:
		return fmt.Sprintf("%.0f/s", v)
	default:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
}

// Judge tells whether it holds. What was not measured doesn't.
func (t Threshold) Judge(r *Report) Verdict {
	m := metrics[t.metric]
	v, ok := m.value(r)
	if !ok {
		return Verdict{Threshold: t.Text, Value: "not measured"}
	}
	shown := m.unit.format(v)
	if t.share {
		all := m.of(r)
		if all == 0 {
			return Verdict{Threshold: t.Text, Value: "not measured"}
		}
		v /= all
		shown = fmt.Sprintf("%.3g%%", 100*v)
	}
	return Verdict{Threshold: t.Text, Value: shown, OK: compare(v, t.op, t.limit)}
}

func compare(v float64, op string, limit float64) bool {
	switch op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	default:
		return v == limit
	}
}

// always are the thresholds that every run is held to.
var always = []string{"lost==0", "duplicated==0", "misrouted==0", "executed_twice==0", "out_of_order==0", "skipped==0"}

// Judge holds the report to thresholds: those that every run has, and its own.
func (r *Report) Judge(own []Threshold) {
	r.Thresholds, r.OK = nil, true
	var all []Threshold
	for _, text := range always {
		t, err := ParseThreshold(text)
		if err != nil {
			panic(err) // it is written above
		}
		all = append(all, t)
	}
	for _, t := range append(all, own...) {
		v := t.Judge(r)
		r.Thresholds = append(r.Thresholds, v)
		r.OK = r.OK && v.OK
	}
}

func metricNames() []string {
	names := make([]string, 0, len(metrics))
	for name := range metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
