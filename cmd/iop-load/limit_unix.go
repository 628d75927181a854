//go:build unix

package main

import (
	"fmt"
	"syscall"

	"iop/cmd/internal/program"
)

// spareFiles is what a run needs beside its Edges: HTTP connections, live readers, Clients, reports.
const spareFiles = 600

// raiseFileLimit gives this process as many descriptors as it may have, and refuses a run that needs more.
func (c *command) raiseFileLimit(edges int) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	if l.Cur < l.Max {
		l.Cur = l.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			return fmt.Errorf("raising the limit of open files to %d: %w", l.Max, err)
		}
	}
	fmt.Fprintf(c.stderr, "open files: raised to the hard limit of %d\n", l.Max)
	if uint64(edges)+spareFiles > uint64(l.Max) {
		return program.Usage(fmt.Errorf("%d Edges need some %d open files, and the hard limit of this process is %d; raise it (ulimit -Hn), or let other processes --join",
			edges, edges+spareFiles, l.Max))
	}
	return nil
}
