// Package edge turns a program into an Edge: a site that owns nodes and their providers, and that a Control Plane may ask
// for its status and send commands. iop-edge uses it, and it is meant for other people's programs, too:
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
// Run goes on whether or not the Control Plane can be reached: the site and running commands don't notice. A lost
// connection is dialled again, with full jitter, so that the Edges of a fleet don't all come back at the same moment. What the Control
// Plane sends can end a connection, but never the program; nor can an operation that panics.
//
// A command runs at most once: repeats of its id, also on a later connection, are answered with the outcome of the
// first. Outcomes are kept in memory, and with a StateFile across restarts; a command that was running when the process ended
// has then failed. Without one a new process knows nothing of an old one's commands, and says so.
//
// Addresses of providers never leave the Edge, and its token goes only into the hello. Error messages that are sent are this
// program's own sentences, never the texts of other programs.
//
// # Parts
//
// A [Site] reports the nodes: [ProbedSite] asks declared providers over HTTP, other programs may have their own, and
// [JoinSites] makes one of several. Package edge/nodes has one whose nodes connect to it. An [Operation] is a command that
// can be run. All of them live longer than any connection.
package edge
