package measure

import (
	"bytes"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics reads some gauges and counters without labels from a page in the Prometheus text format, in the order of their names. An
// error when one of them isn't there, or the page isn't of that format.
func Metrics(page []byte, names ...string) ([]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("the metrics can't be read: %w", err)
	}
	values := make([]float64, len(names))
	for i, name := range names {
		var found bool
		for _, m := range families[name].GetMetric() {
			if len(m.Label) == 0 {
				values[i], found = valueOf(m)
			}
		}
		if !found {
			return nil, fmt.Errorf("the metric %s isn't there", name)
		}
	}
	return values, nil
}

func valueOf(m *dto.Metric) (value float64, ok bool) {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue(), true
	case m.Counter != nil:
		return m.Counter.GetValue(), true
	case m.Untyped != nil:
		return m.Untyped.GetValue(), true
	}
	return 0, false
}
