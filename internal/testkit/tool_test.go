package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// told is a test that remembers how it ended.
type told struct {
	testing.TB
	skipped, failed bool
}

func (t *told) Helper()               {}
func (t *told) Skip(...any)           { t.skipped = true }
func (t *told) Fatalf(string, ...any) { t.failed = true; panic(t) } // it doesn't come back

func TestTool(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, need := range []string{"", "1"} {
		t.Setenv(needTools, need)
		if path := Tool(t, "there"); path != there {
			t.Errorf("found %q, want %q", path, there)
		}
		asked := &told{}
		func() {
			defer func() { _ = recover() }()
			Tool(asked, "iop-no-such-program")
		}()
		if asked.failed != (need != "") || asked.skipped != (need == "") {
			t.Errorf("%s=%q: %+v", needTools, need, asked)
		}
	}
}
