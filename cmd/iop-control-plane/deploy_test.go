package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iop/cmd/internal/program"
	"iop/internal/testkit"
)

// TestUnits runs scripts/units-check.sh.
func TestUnits(t *testing.T) {
	t.Parallel()
	testkit.Tool(t, "systemd-analyze")
	if said, err := exec.Command("../../scripts/units-check.sh").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestComposeConfiguration: as it is the start is refused, because it is open to all; with tokens it isn't.
func TestComposeConfiguration(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../deploy/compose/control-plane.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tokens := strings.NewReplacer(
		"operators: []", fmt.Sprintf("operators: [{name: me, role: operator, token_sha256: %s}]", hashOf("o")),
		"edges: []", fmt.Sprintf("edges: [{edge_id: compose-1, token_sha256: %s}]", hashOf("e")))
	for text, want := range map[string]int{string(content): program.ExitUsage, tokens.Replace(string(content)): program.ExitOK} {
		path := filepath.Join(t.TempDir(), "cp.yaml")
		writeFile(t, path, []byte(text))
		var out bytes.Buffer
		if code := run([]string{"config", "check", "--config", path}, &out, &out, func(string) string { return "" }); code != want {
			t.Errorf("exit code %d, want %d: %s", code, want, out.String())
		}
	}
}
