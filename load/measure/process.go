package measure

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
)

// Process is what the system tells of one process of this machine, from /proc; elsewhere than on Linux it tells nothing.
type Process struct{ Pid int }

// Usage is a process's use of the machine at one moment.
type Usage struct {
	CPU      time.Duration // user and system, since it began
	Resident int64         // bytes
}

// Usage reads it now; an error when the process has gone.
func (p Process) Usage() (Usage, error) {
	process, err := procfs.NewProc(p.Pid)
	if err != nil {
		return Usage{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return Usage{}, err
	}
	return Usage{CPU: time.Duration(stat.CPUTime() * float64(time.Second)), Resident: int64(stat.ResidentMemory())}, nil
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
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return Process{}, err
	}
	if inode, ok := listening(proc, n); ok {
		return owner(proc, inode)
	}
	return Process{}, fmt.Errorf("nothing listens at %s that can be seen", address)
}

// listening finds the inode of the socket that listens on a port. A table that isn't there has none.
func listening(proc procfs.FS, port uint64) (inode uint64, ok bool) {
	const listen = 0x0A
	//lint:ignore SA1019 netlink, which is quicker among very many sockets, isn't worth a module for one look as a run begins
	v4, _ := proc.NetTCP()
	//lint:ignore SA1019 as above
	v6, _ := proc.NetTCP6()
	for _, socket := range slices.Concat(v4, v6) {
		if socket.St == listen && socket.LocalPort == port {
			return socket.Inode, true
		}
	}
	return 0, false
}

// owner finds the process that has a socket open.
func owner(proc procfs.FS, inode uint64) (Process, error) {
	processes, err := proc.AllProcs()
	if err != nil {
		return Process{}, err
	}
	want := fmt.Sprintf("socket:[%d]", inode)
	for _, p := range processes {
		if targets, err := p.FileDescriptorTargets(); err == nil && slices.Contains(targets, want) {
			return Process{p.PID}, nil
		}
	}
	return Process{}, errors.New("the process that listens there can't be seen")
}
