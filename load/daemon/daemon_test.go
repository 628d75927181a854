package daemon

import (
	"os/exec"
	"strings"
	"testing"
)

// Why a daemon didn't start is in what it printed, and nowhere else.
func TestOneThatEndsAtOnceIsTold(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh here")
	}
	_, err = Start(Options{Bin: sh, Args: []string{"-c", "echo the port is taken >&2; exit 1"}})
	if err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("it says: %v", err)
	}
}

func TestNothingToStart(t *testing.T) {
	if _, err := Start(Options{Bin: "there-is-no-such-file"}); err == nil {
		t.Error("it started")
	}
}
