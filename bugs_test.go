package iop_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPlantedBugsApply: a patch of testdata/bugs whose code has moved on would no longer be tried by make bugs.
func TestPlantedBugsApply(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	var all []string
	for _, dir := range []string{"actors", "edge/nodes"} {
		patches, err := filepath.Glob(filepath.Join(dir, "testdata", "bugs", "*.patch"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, patches...)
	}
	if len(all) < 30 {
		t.Errorf("there are %d patches", len(all))
	}
	for _, patch := range all {
		if out, err := exec.Command(git, "apply", "--check", patch).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", patch, out)
		}
	}
}
