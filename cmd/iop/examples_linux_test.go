package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"iop/internal/testkit"
)

// Every command's help has an example, and every example is typed here as it stands, at a real daemon with real Edges. What it
// finds is what a person has made who went before: a context in use for that daemon, a file with a token, and the id of a
// command in a variable. "iop top" is typed at a terminal; what goes on until Ctrl-C gets one.
func TestEveryExampleWorks(t *testing.T) {
	f := &testFleet{}
	if err := f.start("--wire-listen", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	for id, region := range map[string]string{"seoul-1": "kr-capital", "busan-1": "kr-south"} {
		if err := f.connect(id, map[string]string{"region": region}); err != nil {
			t.Fatal(err)
		}
	}
	x := newExamples(t, f)
	a := newApp(surroundings{stdout: io.Discard, stderr: io.Discard, env: os.Getenv, configDir: os.UserConfigDir})
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Name() == "exit-codes" { // a page to read
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		x.begin()
		for line := range strings.Lines(c.Example) {
			x.run(c.CommandPath(), strings.TrimSpace(line))
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(a.rootCommand())
}

// examples types lines into a shell.
type examples struct {
	t        *testing.T
	dir      string // where it is, and where iop keeps its contexts
	contexts []byte // as they are before a command's examples
	env      []string
}

func newExamples(t *testing.T, f *testFleet) *examples {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &examples{t: t, dir: t.TempDir()}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "iop")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x.dir+"/token.txt", []byte("iop_secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "IOP_ADDR=", "XDG_CONFIG_HOME="+x.dir, "TERM=xterm")
	at := f.daemon.Addresses()
	x.must("iop context set lab --addr http://" + at.HTTP + " --wire ws://" + at.Wire + "/client")
	if x.contexts, err = os.ReadFile(x.contextsFile()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "both Edges are connected", func() bool {
		out, _ := x.shell("iop edges ls")
		return strings.Contains(out, "2 connected")
	})
	x.env = append(x.env, "OPERATION_ID="+x.must("iop run seoul-1 edge.ping -o yaml | sed -n 's/^operation_id: //p' | tr -d '\"'"))
	return x
}

func (x *examples) contextsFile() string { return x.dir + "/iop/config.yaml" }

// begin undoes what the examples of another command did to the contexts.
func (x *examples) begin() {
	x.t.Helper()
	if err := os.WriteFile(x.contextsFile(), x.contexts, 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// run types one example.
func (x *examples) run(command, line string) {
	x.t.Helper()
	switch {
	case !strings.HasPrefix(line, "iop "):
		x.t.Errorf("%s has an example that isn't one: %s", command, line)
	case line == "iop top":
		x.atTerminal(line)
	case strings.Contains(line, "watch") || strings.Contains(line, " -f ") || strings.Contains(line, "--follow"):
		x.interrupt(line)
	default:
		x.must(line)
	}
}

func (x *examples) command(line string) *exec.Cmd {
	c := exec.Command("sh", "-c", line)
	c.Dir, c.Env = x.dir, x.env
	return c
}

func (x *examples) shell(line string) (out string, code int) {
	c := x.command(line)
	text, _ := c.CombinedOutput()
	return string(text), c.ProcessState.ExitCode()
}

// must wants it to succeed.
func (x *examples) must(line string) (out string) {
	x.t.Helper()
	out, code := x.shell(line)
	if code != 0 {
		x.t.Errorf("%s\nexit code %d\n%s", line, code, out)
	}
	return strings.TrimSpace(out)
}

// atTerminal wants it to draw the Edges, and to end when it is told to.
func (x *examples) atTerminal(line string) {
	x.t.Helper()
	p := newPty(x.t)
	c := x.command("exec " + line)
	c.Stdin, c.Stdout = p.them, p.them
	if err := c.Start(); err != nil {
		x.t.Fatal(err)
	}
	p.waitFor("seoul-1")
	_, _ = p.us.WriteString("q")
	if err := c.Wait(); err != nil {
		x.t.Errorf("%s: %v", line, err)
	}
}

// interrupt gives Ctrl-C to what goes on, once it has said something.
func (x *examples) interrupt(line string) {
	x.t.Helper()
	c := x.command("exec " + line)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		x.t.Fatal(err)
	}
	first := make([]byte, 64)
	n, _ := out.Read(first)
	_ = c.Process.Signal(syscall.SIGINT)
	rest, _ := io.ReadAll(out)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); n == 0 || code != 130 {
		x.t.Errorf("%s\nexit code %d\n%s", line, code, bytes.Join([][]byte{first[:n], rest}, nil))
	}
}
