package measure

import (
	"bytes"
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics reads some gauges and counters from a page in the Prometheus text format, in the order of their names. Those with labels have
// them in their names, as they stand on the page: answers_total{kind="late"}. An error when one of them isn't there, or the page isn't of
// that format.
func Metrics(page []byte, names ...string) ([]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("the metrics can't be read: %w", err)
	}
	values := make([]float64, len(names))
	for i, name := range names {
		var found bool
		family, _, _ := strings.Cut(name, "{")
		for _, m := range families[family].GetMetric() {
			if family+labelsOf(m) == name {
				values[i], found = valueOf(m)
			}
		}
		if !found {
			return nil, fmt.Errorf("the metric %s isn't there", name)
		}
	}
	return values, nil
}

func labelsOf(m *dto.Metric) string {
	if len(m.Label) == 0 {
		return ""
	}
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return "{" + strings.Join(labels, ",") + "}"
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
