//go:build unix

package wire

import (
	"errors"
	"net"
	"syscall"
)

// tryWriter writes to a socket without ever blocking.
type tryWriter struct {
	raw   syscall.RawConn
	call  func(fd uintptr) bool // made once: a closure a write would be an allocation a write
	bytes []byte
	n     int
	err   error
}

func newTryWriter(c *net.TCPConn) *tryWriter {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &tryWriter{raw: raw}
	w.call = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.bytes)
		return true // done, whatever came of it: never wait for the socket
	}
	return w
}

// write gives how much the kernel took; 0 and no error when it has no room now.
func (w *tryWriter) write(b []byte) (int, error) {
	w.bytes, w.n, w.err = b, 0, nil
	err := w.raw.Write(w.call)
	w.bytes = nil
	if err != nil {
		return 0, err
	}
	switch {
	case w.err == nil:
		return w.n, nil
	case errors.Is(w.err, syscall.EAGAIN), errors.Is(w.err, syscall.EINTR):
		return 0, nil
	default:
		return 0, w.err
	}
}
