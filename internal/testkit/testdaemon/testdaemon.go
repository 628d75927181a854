// Package testdaemon runs the real Control Plane for tests that see it from outside.
package testdaemon

import (
	"os"
	"testing"

	"iop/internal/testkit"
	"iop/load/daemon"
)

// Run starts one in dev mode on free ports, with these flags over that, and waits until it is ready. What it says goes to
// output; nil: only what it says of a start that fails is seen. Whoever runs it closes it.
func Run(output *os.File, args ...string) (*daemon.Daemon, error) {
	bin, err := testkit.Program("iop-control-plane")
	if err != nil {
		return nil, err
	}
	const free = "127.0.0.1:0"
	args = append([]string{"--dev", "--http-listen", free, "--wire-listen", free, "--edge-wire-listen", free}, args...)
	return daemon.Start(daemon.Options{Bin: bin, Args: args, Output: output})
}

// Start is Run for the time of a test.
func Start(t testing.TB, output *os.File, args ...string) *daemon.Daemon {
	t.Helper()
	d, err := Run(output, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}
