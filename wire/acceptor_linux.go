package wire

import (
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Acceptor accepts plain TCP connections for a Poller. net.Listener's Accept makes what the poller has no use for: it registers the
// socket with Go's poller, and sets four options for keep-alives, which heartbeats make needless.
type Acceptor struct {
	poller *Poller
	file   *os.File // a duplicate of the listener's descriptor, which Go's poller waits for
	raw    syscall.RawConn
	once   func(uintptr) bool // made once: a closure a connection would be an allocation a connection

	// The accepting goroutine's alone.
	fd  int
	err error
}

// Acceptor makes one of a listener, which stays the caller's to close. Nil, and nothing was done, for what isn't plain TCP
// or when no descriptor is left.
func (p *Poller) Acceptor(l net.Listener) *Acceptor {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil
	}
	fd := duplicate(tcp)
	if fd < 0 {
		return nil
	}
	a := &Acceptor{poller: p, file: os.NewFile(uintptr(fd), "listener")}
	var err error
	if a.raw, err = a.file.SyscallConn(); err == nil {
		err = a.file.SetReadDeadline(time.Time{}) // fails where Go's poller can't wait for it
	}
	if err != nil {
		_ = a.file.Close()
		return nil
	}
	a.once = a.accept
	return a
}

func duplicate(tcp *net.TCPListener) int {
	fd := -1
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(theirs uintptr) {
			fd, _ = unix.FcntlInt(theirs, unix.F_DUPFD_CLOEXEC, 0)
		})
	}
	return fd
}

// Accept waits for a connection, one call at a time. The link is read, and can be written to, from Start on. After Close it is
// net.ErrClosed.
func (a *Acceptor) Accept() (*PolledLink, error) {
	if a.raw.Read(a.once) != nil { // without a deadline there is no other reason
		return nil, net.ErrClosed
	}
	if a.err != nil {
		return nil, os.NewSyscallError("accept4", a.err)
	}
	// Not once for the listener: a connection that was there before would not have it, nor, on older kernels, one of a listener
	// for MPTCP.
	_ = unix.SetsockoptInt(a.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	return &PolledLink{poller: a.poller, fd: a.fd}, nil
}

// accept is one try; false makes RawConn wait until there is a connection.
func (a *Acceptor) accept(listener uintptr) bool {
	for {
		a.fd, _, a.err = unix.Accept4(int(listener), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch a.err {
		case unix.EINTR, unix.ECONNABORTED: // a peer that is gone already
		default:
			return a.err != unix.EAGAIN
		}
	}
}

// Close ends an Accept that waits. The listener has to be closed, too, for its port to be free.
func (a *Acceptor) Close() error { return a.file.Close() }
