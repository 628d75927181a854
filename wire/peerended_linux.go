package wire

import "golang.org/x/sys/unix"

const tcpEstablished = 1 // TCP_ESTABLISHED of the kernel's include/net/tcp_states.h

// peerEnded tells whether the peer has closed its side, also while nothing of what it said before is read.
func peerEnded(fd int) bool {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && info.State != tcpEstablished
}
