package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCLIIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "config.yaml")
	c, err := LoadCLI(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&CLI{File: file}, c); diff != "" {
		t.Errorf("without a file: %s", diff)
	}
	c.Current = "lab"
	c.Contexts = []CLIContext{
		{Name: "lab", Address: "http://127.0.0.1:18080", Wire: "ws://127.0.0.1:19080/client", Token: `iop_"secret": #1`},
		{Name: "prod", Address: "https://control.example/iop", TokenFile: "/run/token", CAFile: "ca.pem"},
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := LoadCLI(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("read again: %s", diff)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if again.Context("prod") != &again.Contexts[1] || again.Context("nothing") != nil {
		t.Error("contexts are not found by their names")
	}
}

// What can't be read again isn't written: the file stays as it was.
func TestCLIThatIsWrongIsNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	good := &CLI{File: file, Contexts: []CLIContext{{Name: "lab", Address: "http://h"}}}
	if err := good.Save(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(file)
	for name, c := range map[string]struct {
		change func(*CLI)
		want   string
	}{
		"name":       {func(c *CLI) { c.Contexts[0].Name = "a b" }, "contexts[0].name"},
		"two of one": {func(c *CLI) { c.Contexts = append(c.Contexts, c.Contexts[0]) }, "contexts[1].name"},
		"address":    {func(c *CLI) { c.Contexts[0].Address = "h:1" }, "contexts[0].address"},
		"wire":       {func(c *CLI) { c.Contexts[0].Wire = "http://h" }, "contexts[0].wire"},
		"two tokens": {func(c *CLI) { c.Contexts[0].Token, c.Contexts[0].TokenFile = "a", "b" }, "contexts[0].token_file"},
		"current":    {func(c *CLI) { c.Current = "nothing" }, "current"},
		"odd token":  {func(c *CLI) { c.Contexts[0].Token = "s3cret\x00" }, "contexts[0].token"},
	} {
		bad := &CLI{File: file, Contexts: []CLIContext{good.Contexts[0]}}
		c.change(bad)
		err := bad.Save()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s tells a secret: %v", name, err)
		}
		if now, _ := os.ReadFile(file); string(now) != string(before) {
			t.Errorf("%s: the file is another one", name)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
			t.Errorf("%s leaves %v", name, left)
		}
	}
}
