package edge

import (
	"sync"

	iopv1 "iop/proto/iop/v1"
)

// maxHeldEvents bounds the events that wait for a connection. When it is full the oldest go: newer news are better
// news, snapshots are whole anyway, and the outcome of a command is asked for by the Control Plane.
const maxHeldEvents = 256

// eventSender is the connection there is.
type eventSender interface {
	// sendEvent is false when the connection is over and took nothing.
	sendEvent(*iopv1.Envelope) bool
}

// uplink is the way for events to whatever connection there is, and the place where they wait while there is none. It
// never blocks.
type uplink struct {
	mu      sync.Mutex
	to      eventSender // nil: no connection
	held    []*iopv1.Envelope
	dropped int // since the last connection
}

// event sends, or holds until there is a connection.
func (u *uplink) event(e *iopv1.Envelope) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to != nil && u.to.sendEvent(e) {
		return
	}
	u.to = nil
	if len(u.held) == maxHeldEvents {
		copy(u.held, u.held[1:])
		u.held = u.held[:maxHeldEvents-1]
		u.dropped++
	}
	u.held = append(u.held, e)
}

// attach makes a connection the one there is, sends it what was held, and gives how many events were lost for want of
// room.
func (u *uplink) attach(to eventSender) (dropped int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, e := range u.held {
		if !to.sendEvent(e) {
			u.held = u.held[i:]
			return 0
		}
	}
	u.to, u.held = to, nil
	dropped, u.dropped = u.dropped, 0
	return dropped
}

// detach ends the use of a connection.
func (u *uplink) detach(to eventSender) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == to {
		u.to = nil
	}
}

func commandEvent(e *iopv1.EdgeCommandEvent) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandEvent{EdgeCommandEvent: e}}
}

func nodeEvent(e *iopv1.EdgeNodeEvent) *iopv1.Envelope {
	return &iopv1.Envelope{Body: &iopv1.Envelope_EdgeNodeEvent{EdgeNodeEvent: e}}
}
