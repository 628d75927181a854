//go:build unix

package configs

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes to would be waited on for ever.
func TestAPipeIsNoTokenFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 2)
	go func() {
		_, err := readToken("", pipe)
		answers <- err
		_, err = (&CLIContext{TokenFile: pipe}).ReadToken()
		answers <- err
	}()
	for range 2 {
		select {
		case err := <-answers:
			if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("%v", err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it waits on the pipe")
		}
	}
}
