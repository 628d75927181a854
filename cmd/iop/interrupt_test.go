package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "run", "seoul-1", "x", "--addr", server.URL)
	c.Args[0] = "iop" // what testscript.Main calls this program by
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	var talk bytes.Buffer
	c.Stderr = &talk
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	key := <-keys
	_ = c.Process.Signal(syscall.SIGINT)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(talk.String(), "--key "+key) {
		t.Errorf("exit code %d; it says %s", code, talk.String())
	}
}
