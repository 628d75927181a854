// Package edge makes a program an Edge: a site that owns nodes and their providers, and that a Control Plane may ask
// and command. It is built into iop-edge, and made to be built into other people's programs:
//
//	site, err := edge.NewProbedSite(edge.ProbeOptions{Nodes: nodes})
//	...
//	e, err := edge.New(edge.Options{
//		ID:         "seoul-1",
//		Address:    "127.0.0.1:19081",
//		Site:       site,
//		Operations: map[string]edge.Operation{"model.load": loadModel},
//	})
//	...
//	err = e.Run(ctx) // until ctx ends
//
// # What it promises
//
// Run goes on whether or not the Control Plane can be reached: the site and running commands don't notice. A connection
// that is lost is dialled again, with full jitter, so that a fleet doesn't come back at one moment. What the Control Plane sends can end a
// connection, never the program; the same goes for an operation that panics.
//
// A command runs at most once: repeats of its id, also on a later connection, are answered with what became of the
// first. Outcomes are kept in memory, and with a StateFile over a restart; what ran when a process ended has failed.
// Without one a new process knows nothing of an old one's commands and says so.
//
// Addresses of providers and tokens never leave the Edge: no message has a field for them, and errors that are
// told are sentences of this program, not texts of others.
//
// # Parts
//
// [Site] is where the statement about nodes comes from: [ProbedSite] asks declared providers over HTTP; another
// program may bring its own, and [JoinSites] makes one of several. Package edge/nodes has one whose nodes connect to
// it. [Operation] is a command that can be run. All of them live longer than any connection.
package edge
