package actors

import (
	"time"

	"github.com/tidwall/btree"

	iopv1 "iop/proto/iop/v1"
)

// What fronts need to be tested without a running System.

// NewFleet makes a Fleet of these views as it would be at that moment.
func NewFleet(at time.Time, views ...*View) *Fleet {
	f := &Fleet{At: at, views: &btree.Map[string, *View]{}}
	for _, v := range views {
		f.views.Set(v.EdgeID, v)
		if v.Connected {
			f.connected++
		}
	}
	return f
}

// NewPulse makes a Pulse last heard from lastSeenAgo before its Fleet's moment; snapshot may be nil.
func NewPulse(lastSeenAgo, interval time.Duration, snapshot *Snapshot) *Pulse {
	p := &Pulse{}
	p.lastSeen.Store(-int64(lastSeenAgo))
	p.interval.Store(int64(interval))
	p.snapshot.Store(snapshot)
	return p
}

// NewSnapshot makes what is kept of a status answer that was received at that moment.
func NewSnapshot(edgeID string, m *iopv1.EdgeStatusResponse, at time.Time) *Snapshot {
	return newSnapshot(edgeID, m, encodingOf(nil, m), at)
}

// NewSubscription makes a Subscription to these live events; missed is asked once they are closed.
func NewSubscription(events <-chan *LiveEvent, missed func() bool, cancel func()) *Subscription {
	return &Subscription{Events: events, missed: missed, cancel: cancel}
}
