//go:build unix

package fleet

import (
	"fmt"
	"syscall"
)

// RaiseFileLimit gives this process as many descriptors as it may have, and tells how many; 0: the system has no such limit.
func RaiseFileLimit() (limit uint64, err error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	if l.Cur < l.Max {
		l.Cur = l.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			return 0, fmt.Errorf("raising the limit of open files to %d: %w", l.Max, err)
		}
	}
	return uint64(l.Max), nil
}
