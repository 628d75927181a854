package main

import (
	"fmt"

	"iop/cmd/internal/program"
	"iop/load/fleet"
)

// spareFiles is what a run needs beside its Edges: HTTP connections, live readers, Clients, reports.
const spareFiles = 600

// raiseFileLimit gives this process as many descriptors as it may have, and refuses a run that needs more.
func (c *command) raiseFileLimit(edges int) error {
	limit, err := fleet.RaiseFileLimit()
	if err != nil || limit == 0 {
		return err
	}
	fmt.Fprintf(c.stderr, "open files: raised to the hard limit of %d\n", limit)
	if uint64(edges)+spareFiles > limit {
		return program.Usage(fmt.Errorf("%d Edges need some %d open files, and the hard limit of this process is %d; raise it (ulimit -Hn), or let other processes --join",
			edges, edges+spareFiles, limit))
	}
	return nil
}
