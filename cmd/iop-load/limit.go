package main

import (
	"fmt"

	"iop/cmd/internal/program"
	"iop/load/fleet"
)

// spareFiles is what a run needs beside its Edges: HTTP connections, live readers, Clients, reports.
const spareFiles = 600

// checkFileLimit refuses a run that needs more descriptors than this process may have.
func checkFileLimit(edges int) error {
	limit, err := fleet.FileLimit()
	if err != nil || limit == 0 {
		return err
	}
	if uint64(edges)+spareFiles > limit {
		return program.Usage(fmt.Errorf("%d Edges need some %d open files, and this process may have %d; raise the hard limit (ulimit -Hn), or let other processes --join",
			edges, edges+spareFiles, limit))
	}
	return nil
}
