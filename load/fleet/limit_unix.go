//go:build unix

package fleet

import (
	"fmt"
	"syscall"
)

// FileLimit is how many descriptors this process may have; 0: the system has no such limit. Go raises a program's own limit to the hard
// one as it starts.
func FileLimit() (limit uint64, err error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	return uint64(l.Cur), nil
}
