package traffic

import (
	"net/http"
	"strconv"
	"strings"
)

const unmatchedAnswers = "iop_wire_unmatched_answers_total "

// Unmatched reads the Control Plane's count of Edges' answers that nobody waited for; nil where it can't be read.
func (t *Traffic) Unmatched() *uint64 {
	defer t.http.CloseIdleConnections()
	a := t.ask(http.MethodGet, "/metrics", nil, t.opts.Timeout)
	for line := range strings.Lines(string(a.body)) {
		if text, ok := strings.CutPrefix(line, unmatchedAnswers); ok {
			if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && a.kind == "" {
				count := uint64(n)
				return &count
			}
		}
	}
	return nil
}
