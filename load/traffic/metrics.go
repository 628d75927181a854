package traffic

import (
	"net/http"

	"iop/load/measure"
)

// Unmatched reads the Control Plane's count of Edges' answers that nobody waited for; nil where it can't be read.
func (t *Traffic) Unmatched() *uint64 {
	defer t.http.CloseIdleConnections()
	a := t.ask(http.MethodGet, "/metrics", nil, t.opts.Timeout)
	if a.kind != "" {
		return nil
	}
	v, err := measure.Metrics(a.body, "iop_wire_unmatched_answers_total")
	if err != nil {
		return nil
	}
	count := uint64(v[0])
	return &count
}
