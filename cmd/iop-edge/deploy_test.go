package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeployedConfigurations: what the package and the compose file bring lacks the operator's part alone.
func TestDeployedConfigurations(t *testing.T) {
	for file, with := range map[string]struct {
		complete []string // replaced, by turns
		says     string   // of the file as it is; empty: it is complete
	}{
		"../../deploy/debian/edge.yaml":  {[]string{"#id: seoul-1", "id: seoul-1", "#address:", "address:", "#token_file: /etc/iop/edge.token", "token: t"}, "edge.id"},
		"../../deploy/compose/edge.yaml": {},
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check := func(text string) (code int, said string) {
			path := filepath.Join(t.TempDir(), "edge.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			return run([]string{"check", "--config", path}, &out, &out, func(string) string { return "" }), out.String()
		}
		if code, said := check(string(content)); with.says != "" && (code != 2 || !strings.Contains(said, with.says)) {
			t.Errorf("%s as it is: exit code %d, %s", file, code, said)
		}
		if code, said := check(strings.NewReplacer(with.complete...).Replace(string(content))); code != 0 {
			t.Errorf("%s completed: exit code %d, %s", file, code, said)
		}
	}
}
