//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A short run with the real daemon. Its time is too short for a verdict on memory; what it wants is that all is measured, and
// that the books are in order.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a quarter of a minute")
	}
	var stderr bytes.Buffer
	r, err := runSoak(t.Context(), soakOptions{edges: 20, duration: 12 * time.Second, rates: rates{status: 20, commands: 20, readers: 1}, progress: &stderr})
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	written := r.text()
	for _, want := range []string{"| live heap, MiB |", "| goroutines |", "| descriptors |", "| resident, MiB |",
		"| command | ", "| status | ", "| event | ", "Lost 0, duplicated 0, misrouted 0, executed twice 0, out of order 0, skipped 0, overdue 0."} {
		if !strings.Contains(written, want) {
			t.Errorf("%q isn't written:\n%s", want, written)
		}
	}
	for kind, n := range r.Requests {
		if n.wrong() != "" {
			t.Errorf("%s: %s", kind, n.wrong())
		}
	}
	if n := r.Requests["event"]; n.Due <= few || n.OK == 0 || r.CameBack == 0 {
		t.Errorf("events %+v, %d times an Edge came back", n, r.CameBack)
	}
	if len(r.Broken) > 0 || grown(nil, r.Books) != "" || r.Requests["command"].OK == 0 || r.Missing > 0 {
		t.Errorf("%s%q", written, r.Broken)
	}
}
