// Package nodes is the Edge's side of the Node wire: Node agents connect to it, and own the nodes that they report.
//
// A table decides who owns a node. Every claim gets a token, a number that only grows, and the newest accepted one owns
// the node at once, whether or not the older connection still lives. An owner goes through three states:
//
//	accepted ── its answer is on the way ──▶ pending ── NodeReady ──▶ ready
//
// A node is connected exactly while its present owner is ready. Whatever a connection sends, and whatever happens to it, is
// compared by token, so one that was superseded or refused changes nothing, whatever the order in which things arrive.
//
// A declared node without a ready owner stays in the snapshot: not connected, its providers unavailable and offline with
// all numbers zero, but with their names, types and models. Nodes that aren't declared are refused, so that whoever mistyped
// a name notices it, and it doesn't become a machine of the site.
//
// [Site] is the edge.Site around the table: a listener, and one goroutine per connection.
package nodes
