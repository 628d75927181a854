package iop_test

import (
	"os/exec"
	"strings"
	"testing"
)

// rules say what a package must not import directly, by prefix; of this module's packages, not through others either.
// docs/architecture.md has the picture.
var rules = []struct {
	of, never, why string
}{
	{"iop/proto", "iop/", "it is the bottom"},
	{"iop/internal/wholefile", "iop/", "every package may use it"},
	{"iop/internal/testkit", "iop/actors", "client's tests see the Control Plane from outside"},
	{"iop/internal/testkit", "iop/httpapi", "client's tests see the Control Plane from outside"},
	{"iop/wire", "iop/actors", "wire is below"},
	{"iop/wire", "iop/edge", "wire is below"},
	{"iop/wire", "iop/httpapi", "wire is below"},
	{"iop/wire", "iop/client", "wire is below"},
	{"iop/actors", "net/http", "fronts know HTTP, actors don't"},
	{"iop/actors", "github.com/gorilla", "the WebSocket is behind wire"},
	{"iop/actors", "gopkg.in/yaml", "actors get plain option structs"},
	{"iop/actors", "iop/httpapi", "fronts know actors, not the other way"},
	{"iop/actors", "iop/edge", "the Edge is the other side"},
	{"iop/actors", "github.com/asynkron/protoactor-go/remote", "an actor lives where its socket is"},
	{"iop/actors", "github.com/asynkron/protoactor-go/cluster", "an actor lives where its socket is"},
	{"iop/httpapi", "github.com/asynkron", "fronts speak message types, never another's pid"},
	{"iop/httpapi", "github.com/gorilla", "the WebSocket is behind wire"},
	{"iop/edge", "iop/actors", "it is built into other people's programs"},
	{"iop/edge", "iop/httpapi", "it is built into other people's programs"},
	{"iop/client", "iop/actors", "it is built into other people's programs"},
	{"iop/client", "iop/httpapi", "it is built into other people's programs"},
	{"iop/edge", "iop/load", "it is built into other people's programs"},
	{"iop/client", "iop/load", "it is built into other people's programs"},
}

func TestWhoMayImportWhom(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}{{range .Deps}} {{if eq (printf "%.4s" .) "iop/"}}{{.}}{{end}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, imports := fields[0], fields[1:]
		for _, imported := range imports {
			for _, r := range rules {
				seen[r.of] = seen[r.of] || within(pkg, r.of)
				if within(pkg, r.of) && strings.HasPrefix(imported, r.never) {
					t.Errorf("%s imports %s: %s", pkg, imported, r.why)
				}
			}
			for _, testing := range []string{"iop/internal/testkit", "iop/cmd/internal/scripttest"} {
				if within(imported, testing) && !within(pkg, testing) {
					t.Errorf("%s imports %s, which is for tests alone", pkg, imported)
				}
			}
			if imported == "iop/configs" && !strings.HasPrefix(pkg, "iop/cmd/") {
				t.Errorf("%s imports configs, which is for cmd alone", pkg)
			}
		}
	}
	for _, r := range rules {
		if !seen[r.of] {
			t.Errorf("the rule for %s holds nothing: is that package gone?", r.of)
		}
	}
}

func within(pkg, of string) bool { return pkg == of || strings.HasPrefix(pkg, of+"/") }
