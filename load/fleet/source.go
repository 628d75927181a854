package fleet

import (
	"net"
	"runtime"
)

// Source gives each Edge its own address in 127.0.0.0/8 to dial a target from, where the target is there and the system has it all:
// one address has some 28,000 ports, and those of closed connections stay taken for a minute. Elsewhere it is nil: any.
func Source(target string, number int) net.Addr {
	host, _, err := net.SplitHostPort(target)
	if ip := net.ParseIP(host).To4(); err != nil || ip == nil || ip[0] != 127 || runtime.GOOS != "linux" {
		return nil
	}
	return &net.TCPAddr{IP: net.IPv4(127, byte(1+number/62500%250), byte(number/250%250), byte(1+number%250))}
}
