//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// toxiproxy 2.5.0 leaves goroutines behind where a connection ends while something is held up.
func TestMain(m *testing.M) {
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*ToxicStub).Run"), goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).write"))
}

// A short run with the real daemon: one fault of each kind, and a kill that comes late, when there are records to judge before it. How
// soon all is well again is for a machine that does nothing else to tell; here it is wanted that it is.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	var progress bytes.Buffer
	r, err := runChaos(t.Context(), chaosOptions{seed: 33, faults: len(recipes), duration: 8 * time.Second, edges: 30, proxied: 20, real: 2,
		within: patience, heartbeat: 4 * time.Second, progress: &progress})
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	if !r.OK || r.Done != len(recipes) || len(r.Recoveries) != len(recipes) || r.Asked["status"] == 0 || r.Asked["command"] == 0 || r.Asked["event"] == 0 ||
		r.Operations["edge.ping succeeded"] == 0 || r.Operations["edge.ping unknown"] == 0 {
		t.Errorf("%s%s", progress.String(), r.text())
	}
	// All but the few that were asked just before the daemon was killed.
	if least := int(r.Asked["command"]) * 9 / 10; r.Judged < least {
		t.Errorf("%d operations were judged, and %d commands answered", r.Judged, r.Asked["command"])
	}
	path := filepath.Join(t.TempDir(), "report.json")
	if err := writeReport(path, r); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var read chaosReport
	if err := json.Unmarshal(content, &read); err != nil || !cmp.Equal(read.Plan, r.Plan) {
		t.Errorf("the plan isn't in the report: %v", err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"chaos", "--nonsense"}, {"chaos", "more"}, {"chaos", "--faults", "0"}, {"soak", "--duration", "1s"},
		{"soak", "--duration", "3m", "--write", "page.md"}, {"nothing"}, {"chaos", "--edges", "10000000"}} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, stderr.String())
		}
	}
}
