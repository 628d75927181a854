//go:build unix

package wire

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWriter writes to a socket without Go's loop around it: write never blocks, and wait blocks only until
// the kernel has taken something, so that progress can be seen. One call at a time.
type tryWriter struct {
	raw   syscall.RawConn
	call  func(fd uintptr) bool // made once: a closure a write would be an allocation a write
	bytes []byte
	block bool
	n     int
	err   error
}

func newTryWriter(c *net.TCPConn) *tryWriter {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &tryWriter{raw: raw}
	w.call = w.once
	return w
}

// once is one system call; false makes RawConn wait for room in the socket, or for its write deadline.
func (w *tryWriter) once(fd uintptr) bool {
	for {
		w.n, w.err = syscall.Write(int(fd), w.bytes)
		if w.err != syscall.EINTR {
			return !w.block || w.err != syscall.EAGAIN
		}
	}
}

// hasRoom is hasRoom of its socket.
func (w *tryWriter) hasRoom() (room bool) {
	err := w.raw.Control(func(fd uintptr) { room = hasRoom(int(fd)) })
	return err == nil && room
}

// hasRoom tells whether the kernel would take at least a byte now.
func hasRoom(fd int) bool {
	ask := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(ask[:], 0)
	return err == nil && n == 1 && ask[0].Revents == unix.POLLOUT
}

// write gives how much the kernel took; 0 and no error when it has no room now.
func (w *tryWriter) write(b []byte) (int, error) {
	n, err := w.do(b, false)
	if err == syscall.EAGAIN {
		return 0, nil
	}
	return n, err
}

// wait gives how much the kernel took, at least a byte unless there is an error.
func (w *tryWriter) wait(b []byte) (int, error) { return w.do(b, true) }

func (w *tryWriter) do(b []byte, block bool) (int, error) {
	w.bytes, w.block, w.n, w.err = b, block, 0, nil
	err := w.raw.Write(w.call)
	w.bytes = nil
	if err == nil {
		err = w.err
	}
	return max(w.n, 0), err
}
