//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A process that was stopped does nothing more, however busy it is.
func TestStop(t *testing.T) {
	busy := filepath.Join(t.TempDir(), "busy")
	if err := os.WriteFile(busy, []byte("#!/bin/sh\nwhile :; do :; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(busy)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &edgeProcess{id: "busy", cmd: cmd, ended: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(e.ended) }()
	defer e.kill()
	for range 100 {
		if err := e.stop(); err != nil {
			t.Fatal(err)
		}
		if !stopped(cmd.Process.Pid) {
			t.Fatal("it goes on")
		}
		if err := e.signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}
