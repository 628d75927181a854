package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whoever lets go of a command that is on its way is told its key: sent again without it, it might run twice.
func TestAnInterruptedCommandTellsItsKey(t *testing.T) {
	keys := make(chan string, 1)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			keys <- r.Header.Get("Idempotency-Key")
			<-release
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"events":[],"gap":null,"next":"e1"}`)
	}))
	defer server.Close()
	defer close(release)
	c, talk := iopCommand(t, "run", "seoul-1", "x", "--addr", server.URL)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	key := <-keys
	_ = c.Process.Signal(syscall.SIGINT)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(talk.String(), "--key "+key) || strings.Contains(talk.String(), "context") {
		t.Errorf("exit code %d; it says %s", code, talk.String())
	}
}

// A token doesn't go to a server that nobody vouches for, and the message tells how to vouch for it.
func TestPrivateAuthorities(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"edges":[],"total":0,"next_cursor":null}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		exit int
		talk string
	}{
		{nil, exitNotNow, "--ca-file FILE"},
		{[]string{"--ca-file", file}, exitOK, "no Edge is known"},
		{[]string{"--ca-file", file + ".not"}, exitUsage, "can't be read"},
		{[]string{"--ca-file", os.Args[0]}, exitUsage, "holds no certificate"},
	} {
		c, talk := iopCommand(t, append([]string{"edges", "ls", "--addr", server.URL}, x.args...)...)
		_ = c.Run()
		if code := c.ProcessState.ExitCode(); code != x.exit || !strings.Contains(talk.String(), x.talk) {
			t.Errorf("%v: exit code %d; it says %s", x.args, code, talk)
		}
	}
}

// iopCommand is this program as a process of its own.
func iopCommand(t *testing.T, args ...string) (c *exec.Cmd, talk *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, talk = exec.Command(self, args...), &bytes.Buffer{}
	c.Args[0] = "iop" // what testscript.Main calls this program by
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	c.Stderr = talk
	return c, talk
}
