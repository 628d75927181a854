package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"iop/client"
	"iop/internal/testkit"
)

// pty is a terminal of the test's own.
type pty struct {
	t        testing.TB
	us, them *os.File
	before   unix.Termios
	ended    sync.WaitGroup

	mu    sync.Mutex
	drawn bytes.Buffer
}

func newPty(t testing.TB) *pty {
	t.Helper()
	us, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		testkit.Missing(t, fmt.Sprint("no terminals here: ", err))
	}
	p := &pty{t: t, us: us}
	number := 0
	err = errors.Join(unix.IoctlSetPointerInt(int(us.Fd()), unix.TIOCSPTLCK, 0))
	if err == nil {
		number, err = unix.IoctlGetInt(int(us.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		p.them, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.resize(100, 30)
	p.before = p.settings()
	p.ended.Go(p.read)
	t.Cleanup(func() { _ = p.them.Close(); p.ended.Wait(); _ = us.Close() })
	return p
}

// read ends when nobody has the terminal open any more.
func (p *pty) read() {
	b := make([]byte, 4096)
	for {
		n, err := p.us.Read(b)
		p.mu.Lock()
		p.drawn.Write(b[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.String()
}

func (p *pty) resize(width, height uint16) {
	if err := unix.IoctlSetWinsize(int(p.us.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pty) settings() unix.Termios {
	s, err := unix.IoctlGetTermios(int(p.them.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *s
}

func (p *pty) waitFor(what string) {
	p.t.Helper()
	for deadline := time.Now().Add(soon); !strings.Contains(p.text(), what); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%q is never drawn: %q", what, p.text())
		}
	}
}

// isRight wants the terminal as it was: its settings, its own buffer, its cursor.
func (p *pty) isRight() {
	p.t.Helper()
	if p.settings() != p.before {
		p.t.Error("the terminal's settings are other ones than before")
	}
	p.waitFor(leaveScreen)
	if at := strings.LastIndex(p.text(), leaveScreen); at < strings.LastIndex(p.text(), enterScreen) {
		p.t.Error("the other buffer is still shown")
	}
}

// seoulAndProgram is a fleet of one Edge, and the path of this program.
func seoulAndProgram(t *testing.T) (*testFleet, string) {
	t.Helper()
	f := &testFleet{}
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	if err := f.connect("seoul-1", nil); err != nil {
		t.Fatal(err)
	}
	repo, err := client.New("http://"+f.daemon.Addresses().HTTP, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(repo.Close)
	testkit.Eventually(t, "seoul-1 is connected", func() bool {
		_, err := repo.Edge(t.Context(), "seoul-1")
		return err == nil
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return f, self
}

func TestTopPutsTheTerminalRight(t *testing.T) {
	f, self := seoulAndProgram(t)
	for name, c := range map[string]struct {
		end  func(p *pty, c *exec.Cmd)
		exit int
	}{
		"q":       {func(p *pty, _ *exec.Cmd) { _, _ = p.us.WriteString("xq") }, 0},
		"Ctrl-C":  {func(p *pty, _ *exec.Cmd) { _, _ = p.us.WriteString("\x03") }, 130},
		"SIGTERM": {func(_ *pty, c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGTERM) }, 143},
		"SIGINT":  {func(_ *pty, c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGINT) }, 130},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPty(t)
			top := exec.CommandContext(t.Context(), self, "top", "--addr", f.daemon.Addresses().HTTP, "--every", "1s")
			top.Args[0] = "iop" // what testscript.Main calls this program by
			top.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "XDG_CONFIG_HOME="+t.TempDir())
			top.Stdin, top.Stdout = p.them, p.them
			var talk bytes.Buffer
			top.Stderr = &talk
			if err := top.Start(); err != nil {
				t.Fatal(err)
			}
			p.waitFor("seoul-1")
			p.waitFor("\x1b[32m1 connected")
			if p.settings() == p.before {
				t.Error("keys don't come as they are typed")
			}
			p.resize(40, 8)
			_ = top.Process.Signal(syscall.SIGWINCH) // the kernel tells the foreground's processes alone
			p.waitFor("\x1b[2J\x1b[1;1H\x1b[1;7m iop top  http://127.0.0.1:")
			c.end(p, top)
			_ = top.Wait()
			if code := top.ProcessState.ExitCode(); code != c.exit || talk.Len() > 0 {
				t.Errorf("exit code %d, want %d; it says %q", code, c.exit, talk.String())
			}
			p.isRight()
		})
	}
}

// On a terminal a list has colours, unless NO_COLOR says that it must not, or the terminal can't.
func TestNoColor(t *testing.T) {
	f, self := seoulAndProgram(t)
	for name, c := range map[string]struct {
		env   []string
		color bool
	}{
		"a terminal": {[]string{"TERM=xterm", "NO_COLOR="}, true},
		"NO_COLOR":   {[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		"dumb":       {[]string{"TERM=dumb", "NO_COLOR="}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPty(t)
			list := exec.CommandContext(t.Context(), self, "edges", "ls", "--addr", f.daemon.Addresses().HTTP)
			list.Args[0] = "iop"
			list.Env = append(append(os.Environ(), c.env...), "XDG_CONFIG_HOME="+t.TempDir())
			list.Stdout = p.them
			if err := list.Run(); err != nil {
				t.Fatal(err)
			}
			p.waitFor("seoul-1")
			p.waitFor("connected")
			if got := strings.Contains(p.text(), "\x1b["); got != c.color {
				t.Errorf("coloured: %v, in %q", got, p.text())
			}
		})
	}
}

// A token that is typed isn't shown, and the terminal is as before, also for one who lets go of it.
func TestTypedToken(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		end  func(p *pty, c *exec.Cmd)
		exit int
		kept bool
	}{
		"Enter":  {func(p *pty, _ *exec.Cmd) { _, _ = p.us.WriteString("iop_secret\r") }, 0, true},
		"none":   {func(p *pty, _ *exec.Cmd) { _, _ = p.us.WriteString("\r") }, 2, false},
		"SIGINT": {func(_ *pty, c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGINT) }, 130, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPty(t)
			dir := t.TempDir()
			set := exec.CommandContext(t.Context(), self, "context", "set", "prod", "--addr", "https://control.example", "--token-stdin")
			set.Args[0] = "iop"
			set.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
			set.Stdin, set.Stdout, set.Stderr = p.them, p.them, p.them
			if err := set.Start(); err != nil {
				t.Fatal(err)
			}
			p.waitFor("Token: ")
			testkit.Eventually(t, "what is typed isn't shown", func() bool { return p.settings() != p.before })
			c.end(p, set)
			_ = set.Wait()
			kept, _ := os.ReadFile(filepath.Join(dir, "iop", "config.yaml"))
			if code := set.ProcessState.ExitCode(); code != c.exit || strings.Contains(string(kept), "iop_secret") != c.kept {
				t.Errorf("exit code %d, want %d; kept is %q", code, c.exit, kept)
			}
			if p.settings() != p.before || strings.Contains(p.text(), "iop_secret") {
				t.Errorf("the terminal is another one than before, or shows %q", p.text())
			}
		})
	}
}

// A panic beside the screen comes up only when the terminal is right again, where it can be read.
func TestTopPanics(t *testing.T) {
	p := newPty(t)
	func() {
		defer func() {
			if said := fmt.Sprint(recover()); !strings.Contains(said, "oh no") || !strings.Contains(said, "TestTopPanics") {
				t.Errorf("recovered %s", said)
			}
		}()
		s, err := openScreen(p.them, p.them)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if !term.IsTerminal(int(p.them.Fd())) || p.settings() == p.before {
			t.Error("it isn't in raw mode")
		}
		l := &topLoop{model: newTopModel(testApp()), screen: s, failed: make(chan error, 1)}
		l.start(func() error { panic("oh no") })
		_ = l.run(context.Background(), nil)
	}()
	p.isRight()
}
