package measure

import (
	"slices"
	"testing"
)

func TestMetrics(t *testing.T) {
	const page = `# HELP go_goroutines x
# TYPE go_goroutines gauge
go_goroutines 12
go_goroutines_more 9
# TYPE answers_total counter
answers_total 3
# TYPE asked_total counter
asked_total{kind="a"} 4
asked_total{kind="b",of="e"} 5
# TYPE times histogram
times_bucket{le="+Inf"} 1
times_sum 2
times_count 1
untyped 1.5e+06
`
	for _, c := range []struct {
		name, page string
		names      []string
		want       []float64 // nil: an error
	}{
		{"each in its place", page, []string{"untyped", "go_goroutines", "answers_total"}, []float64{1.5e6, 12, 3}},
		{"one alone, without a type", "go_goroutines 7\n", []string{"go_goroutines"}, []float64{7}},
		{"none", page, []string{"nothing"}, nil},
		{"one of two", page, []string{"untyped", "nothing"}, nil},
		{"with labels", page, []string{`asked_total{kind="b",of="e"}`, `asked_total{kind="a"}`}, []float64{5, 4}},
		{"with other labels", page, []string{`asked_total{kind="b"}`}, nil},
		{"with labels alone", page, []string{"asked_total"}, nil},
		{"a histogram", page, []string{"times"}, nil},
		{"no such page", `{"go_goroutines": 7}`, []string{"go_goroutines"}, nil},
	} {
		got, err := Metrics([]byte(c.page), c.names...)
		if (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}
