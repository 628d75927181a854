package edge

import (
	"time"

	iopv1 "iop/proto/iop/v1"
)

// Announcer is a Site that itself reports when nodes with Announced set become ready and when they are lost.
// Comparing snapshots is not enough for these: a node that a newer connection takes over is not connected for a moment,
// but nothing has happened that is worth an event.
type Announcer interface {
	// Announce is called once, before Run. tell doesn't block and may be called from any goroutine.
	Announce(tell func(Announcement))
}

// Announcement is one thing that happened to a node.
type Announcement struct {
	NodeID string
	// Ready: it became ready; else it is disconnected.
	Ready bool
}

// listen has the site's own announcements become events.
func (e *Edge) listen() {
	if site, ok := e.opts.Site.(Announcer); ok {
		site.Announce(func(a Announcement) { e.up.event(nodeEvent(a.event(time.Now()))) })
	}
}

func (a Announcement) event(at time.Time) *iopv1.EdgeNodeEvent {
	d := diff{at: at}
	d.node(Node{ID: a.NodeID, Connected: !a.Ready}, Node{ID: a.NodeID, Connected: a.Ready})
	return d.events[0]
}
