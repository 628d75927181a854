package iop_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport says which packages of this module a package, and those below it, may depend on beside each other, directly or
// through others. Packages that aren't here (cmd, bench, endure, scripts) may depend on all. docs/architecture.md has the picture.
var mayImport = map[string][]string{
	"iop/proto":                {},
	"iop/internal/crossorigin": {},
	"iop/internal/wholefile":   {},
	"iop/internal/testkit":     {"iop/load/daemon", "iop/load/measure"}, // client's tests see the Control Plane from outside
	"iop/configs":              {"iop/internal/wholefile"},
	"iop/wire":                 {"iop/proto"},
	"iop/actors":               {"iop/wire", "iop/proto"},
	"iop/httpapi":              {"iop/internal/crossorigin", "iop/actors", "iop/wire", "iop/proto"},
	// These two are built into other people's programs.
	"iop/edge":   {"iop/wire", "iop/proto", "iop/internal/crossorigin", "iop/internal/wholefile"},
	"iop/client": {"iop/wire", "iop/proto"},
	"iop/load":   {"iop/client/sse", "iop/wire", "iop/proto"},
}

// neverImport says, by prefix, what of other modules a package, and those below it, must not import directly.
var neverImport = []struct {
	of, never, why string
}{
	{"iop/actors", "net/http", "fronts know HTTP, actors don't"},
	{"iop/actors", "github.com/gorilla", "the WebSocket is behind wire"},
	{"iop/actors", "gopkg.in/yaml", "actors get plain option structs"},
	{"iop/actors", "github.com/asynkron/protoactor-go/remote", "an actor lives where its socket is"},
	{"iop/actors", "github.com/asynkron/protoactor-go/cluster", "an actor lives where its socket is"},
	{"iop/httpapi", "github.com/asynkron", "fronts speak message types, never another's pid"},
	{"iop/httpapi", "github.com/gorilla", "the WebSocket is behind wire"},
}

func TestWhoMayImportWhom(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}{{range .Deps}} {{if eq (printf "%.4s" .) "iop/"}}{{.}}{{end}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		slices.Sort(fields[1:]) // what a package of this module imports directly is there twice
		pkg, imports := fields[0], slices.Compact(fields[1:])
		for of, allowed := range mayImport {
			if within(pkg, of) {
				seen[of] = true
				onlyThese(t, pkg, imports, append([]string{of}, allowed...))
			}
		}
		for _, imported := range imports {
			for _, r := range neverImport {
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
	for of := range mayImport {
		if !seen[of] {
			t.Errorf("the rule for %s holds nothing: is that package gone?", of)
		}
	}
}

// onlyThese fails where a package depends on one of this module that is neither one of allowed nor below one.
func onlyThese(t *testing.T, pkg string, imports, allowed []string) {
	t.Helper()
	for _, imported := range imports {
		ours := within(imported, "iop")
		if ours && !slices.ContainsFunc(allowed, func(a string) bool { return within(imported, a) }) {
			t.Errorf("%s depends on %s; of this module it may depend on these alone: %s", pkg, imported, strings.Join(allowed, ", "))
		}
	}
}

func within(pkg, of string) bool { return pkg == of || strings.HasPrefix(pkg, of+"/") }
