//go:build !unix

package wire

import "net"

// tryWriter exists where a socket can be written to without blocking; elsewhere every write goes through the
// link's goroutine.
type tryWriter struct{}

func newTryWriter(*net.TCPConn) *tryWriter { return nil }

func (*tryWriter) hasRoom() bool { return false }

func (*tryWriter) write([]byte) (int, error) { return 0, nil }

func (*tryWriter) wait([]byte) (int, error) { return 0, nil }
