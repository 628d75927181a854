package daemon

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
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

// What it takes to be ready is part of what it takes to be back.
func TestItBeginsBeforeItIsReady(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh here")
	}
	asked := make(chan time.Time, 1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- time.Now():
		default:
		}
	}))
	defer server.Close()
	script := `echo '{"http": "` + server.Listener.Addr().String() + `"}' > "$2"; exec sleep 60`
	before := time.Now()
	d, err := Start(Options{Bin: sh, Args: []string{"-c", script, "sh"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if began, ready := d.Began(), <-asked; began.Before(before) || began.After(ready) {
		t.Errorf("it began %v after it was started, and %v before it was asked whether it is ready", began.Sub(before), ready.Sub(began))
	}
}
