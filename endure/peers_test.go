//go:build linux

package main

import (
	"net"
	"testing"
	"testing/synctest"
)

func TestStillOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, other := net.Pipe()
		_ = other.Close()
		said, last := net.Pipe()
		go func() {
			_, _ = last.Write([]byte("goodbye"))
			_ = last.Close()
		}()
		open, kept := net.Pipe()
		defer kept.Close()
		if n := stillOpen([]net.Conn{closed, open, said}); n != 1 {
			t.Errorf("%d are open, want 1", n)
		}
	})
}
