package measure

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is what the system tells of one process of this machine, from /proc; elsewhere than on Linux it tells nothing.
type Process struct{ Pid int }

// Usage is a process's use of the machine at one moment.
type Usage struct {
	CPU      time.Duration // user and system, since it began
	Resident int64         // bytes
}

// tick is the unit of CPU times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

var errNoUsage = errors.New("the process tells nothing")

// Usage reads it now; an error when the process has gone.
func (p Process) Usage() (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	if err != nil {
		return Usage{}, err
	}
	// The name in brackets may hold anything; what counts comes after it.
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), ") ")
	f := strings.Fields(rest)
	const user, system, resident = 11, 12, 21
	if len(f) <= resident {
		return Usage{}, errNoUsage
	}
	u, err1 := strconv.ParseInt(f[user], 10, 64)
	s, err2 := strconv.ParseInt(f[system], 10, 64)
	pages, err3 := strconv.ParseInt(f[resident], 10, 64)
	return Usage{CPU: time.Duration(u+s) * tick, Resident: pages * int64(os.Getpagesize())}, errors.Join(err1, err2, err3)
}

// Listener finds the process of this machine that listens at a host:port. It sees other users' processes only as root.
func Listener(address string) (Process, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Process{}, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return Process{}, fmt.Errorf("%s is not on this machine", host)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Process{}, err
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		sockets, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		if inode := listening(string(sockets), uint16(n)); inode != "" {
			return owner(inode)
		}
	}
	return Process{}, fmt.Errorf("nothing listens at %s that can be seen", address)
}

// listening finds the inode of the socket that listens on a port in a table as /proc/net/tcp has it.
func listening(table string, port uint16) string {
	const local, state, inode, listen = 1, 3, 9, "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > inode && f[state] == listen && strings.HasSuffix(f[local], suffix) {
			return f[inode]
		}
	}
	return ""
}

// owner finds the process that has a socket open.
func owner(inode string) (Process, error) {
	want := "socket:[" + inode + "]"
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return Process{}, err
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == want {
			pid, err := strconv.Atoi(strings.Split(fd, "/")[2])
			return Process{pid}, err
		}
	}
	return Process{}, errors.New("the process that listens there can't be seen")
}
