package actors

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/tidwall/btree"

	"iop/wire"
)

// View is what the registry says of one Edge at one moment. It is never changed in place: a change is a new
// View, so that whoever holds one may read it without asking. What is read of all Edges to count them comes first, in one line of
// the processor's cache: a large fleet's Views aren't there, and each line must be fetched.
type View struct {
	EdgeID    string
	Connected bool
	// Pulse is the owning connection's (or the last one's) own cell.
	Pulse *Pulse

	Name       string
	Version    string
	InstanceID string
	Labels     Labels
	Operations OperationNames // empty: the Edge doesn't say

	ConnectedAt      time.Time
	DisconnectedAt   time.Time // zero while connected
	DisconnectReason Reason    // empty while connected
	Connections      uint64    // claims since the process started
	Takeovers        uint64
	ConflictUntil    time.Time // zero: never in conflict

	token Token
	pid   *actor.PID // nil once disconnected
}

// Token is the connection token: the number that the registry gives a connection when it claims an id. It only
// grows; whoever holds the newest owns the id.
type Token uint64

// Pulse is what only one connection writes and everybody reads: a heartbeat or a snapshot is one atomic store
// and wakes no actor. A takeover gives the id a new Pulse, so that what an older connection still
// writes is seen by nobody.
type Pulse struct {
	lastSeen atomic.Int64 // nanoseconds of the system's monotonic clock
	interval atomic.Int64 // heartbeat interval in force, nanoseconds
	skew     atomic.Int64 // the Edge's clock minus the server's, nanoseconds
	skewed   atomic.Bool  // skew is known
	snapshot atomic.Pointer[Snapshot]
}

// Snapshot is the last one taken from this Edge, or nil.
func (p *Pulse) Snapshot() *Snapshot { return p.snapshot.Load() }

// keep makes a snapshot the newest, unless a newer one is there: pushes come straight from who reads, answers by the actor.
func (p *Pulse) keep(s *Snapshot) {
	for s != nil {
		last := p.snapshot.Load()
		if last != nil && last.ReceivedAt.After(s.ReceivedAt) || p.snapshot.CompareAndSwap(last, s) {
			return
		}
	}
}

// silentFor tells whether nothing was heard for 2.5 intervals.
func (p *Pulse) silentFor(now int64) bool {
	return now-p.lastSeen.Load() > int64(wire.SilentAfter(time.Duration(p.interval.Load())))
}

// Interval is the heartbeat interval in force.
func (p *Pulse) Interval() time.Duration { return time.Duration(p.interval.Load()) }

// Skew is the Edge's clock minus the server's, and whether anything is known of it.
func (p *Pulse) Skew() (time.Duration, bool) {
	return time.Duration(p.skew.Load()), p.skewed.Load()
}

// Reason says why a connection ended.
type Reason string

const (
	Goodbye          Reason = "goodbye"
	ConnectionClosed Reason = "connection_closed"
	HeartbeatTimeout Reason = "heartbeat_timeout"
	ProtocolError    Reason = "protocol_error"
	WriteTimeout     Reason = "write_timeout"
	Shutdown         Reason = "shutdown"
)

// State is what a View amounts to at a moment.
type State string

const (
	Connected    State = "connected" // and heard from within 1.5 intervals
	Stale        State = "stale"     // connected, but nothing was heard for 1.5 intervals
	Disconnected State = "disconnected"
)

// Fleet is the registry's views at one moment, in order of edge_id. It was copied in O(1) and is the
// receiver's own to read, from one goroutine.
type Fleet struct {
	At    time.Time
	views *btree.Map[string, *View]
	mono  int64 // At on the monotonic clock

	connected int
}

// Get finds one Edge; nil when the registry doesn't know it.
func (f *Fleet) Get(edgeID string) *View {
	v, _ := f.views.Get(edgeID)
	return v
}

// Len is how many Edges are known, connected or not.
func (f *Fleet) Len() int { return f.views.Len() }

// LenConnected is how many of them are connected, stale ones among them.
func (f *Fleet) LenConnected() int { return f.connected }

// From visits the views whose id is at or after edgeID, in order, until visit says false.
func (f *Fleet) From(edgeID string, visit func(*View) bool) {
	f.views.Ascend(edgeID, func(_ string, v *View) bool { return visit(v) })
}

// State tells what a View of this Fleet amounts to at At.
func (f *Fleet) State(v *View) State {
	switch {
	case !v.Connected:
		return Disconnected
	case f.mono-v.Pulse.lastSeen.Load() > v.Pulse.interval.Load()*3/2:
		return Stale
	default:
		return Connected
	}
}

// LastSeen is when the last frame of this Edge came, by the server's clock: counted back from now, because that clock may have
// been set since the process began.
func (f *Fleet) LastSeen(v *View) time.Time {
	return f.At.Add(time.Duration(v.Pulse.lastSeen.Load() - f.mono))
}

// InConflict tells whether two instances are fighting over this id.
func (f *Fleet) InConflict(v *View) bool { return v.Connected && f.At.Before(v.ConflictUntil) }

// Age is how long ago a snapshot was received.
func (f *Fleet) Age(s *Snapshot) time.Duration { return max(0, f.At.Sub(s.ReceivedAt)) }
