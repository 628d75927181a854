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
	"time"

	"github.com/spf13/cobra"
)

// Every command's help has an example, and every example is typed here as it stands, at a real daemon with real Edges.
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
	t   *testing.T
	dir string
	env []string
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
	x.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "IOP_ADDR=http://"+f.daemon.Addresses().HTTP, "XDG_CONFIG_HOME="+x.dir)
	x.env = append(x.env, "WIRE=ws://"+f.daemon.Addresses().Wire)
	x.wait("2 connected")
	out, _ := x.shell("iop run seoul-1 edge.ping -o yaml | sed -n 's/^operation_id: //p' | tr -d '\"'")
	x.env = append(x.env, "OPERATION_ID="+strings.TrimSpace(out))
	return x
}

func (x *examples) wait(what string) {
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if out, _ := x.shell("iop edges ls"); strings.Contains(out, what) {
			return
		}
	}
	x.t.Fatalf("never: %s", what)
}

// run types one example. Those that go on until Ctrl-C get one once they have said something.
func (x *examples) run(command, line string) {
	x.t.Helper()
	if !strings.HasPrefix(line, "iop ") {
		x.t.Errorf("%s has an example that isn't one: %s", command, line)
		return
	}
	switch {
	case line == "iop top": // terminal_linux_test.go has a terminal for it
		return
	case strings.HasPrefix(line, "iop hello"):
		line += " --wire $WIRE"
	}
	if strings.Contains(line, "watch") || strings.Contains(line, " -f ") || strings.Contains(line, "--follow") {
		x.interrupt(line)
		return
	}
	if out, code := x.shell(line); code != 0 {
		x.t.Errorf("%s\nexit code %d\n%s", line, code, out)
	}
}

func (x *examples) shell(line string) (string, int) {
	c := exec.Command("sh", "-c", line)
	c.Dir, c.Env = x.dir, x.env
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

func (x *examples) interrupt(line string) {
	x.t.Helper()
	c := exec.Command("sh", "-c", "exec "+line)
	c.Dir, c.Env = x.dir, x.env
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
