// Package nodes is the Edge's side of the Node wire: Node agents connect to it, and own the nodes that they speak for.
//
// A table decides who owns a node. Every claim gets a token, a number that only grows, and the newest granted one owns
// the node at once, whether or not the older connection still lives. An owner goes through three states:
//
//	accepted ── its answer is on the way ──▶ pending ── NodeReady ──▶ ready
//
// A node is connected exactly while its present owner is ready. Whatever a connection says or suffers is compared by
// token, so that one that was superseded or refused changes nothing, in whatever order things arrive.
//
// A declared node without a ready owner stays in the statement: not connected, its providers unavailable and offline with
// all numbers zero, but with their names, types and models. Nodes that aren't declared are refused: a mistyped
// name should be seen by whoever mistyped it, not become a machine of the site.
//
// [Site] is the edge.Site around it: a listener, and a goroutine a connection.
package nodes
