package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/tidwall/btree"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// table decides who owns an edge_id, by comparing connection tokens; by which of them a command goes is decided in flight.go. It knows
// no actor system: it gets claims and ends, and says what follows from them.
type table struct {
	opts TableOptions

	views     btree.Map[string, *View]
	lastToken Token
	connected int
	takings   map[string][]time.Time // of ids taken from a live owner by another instance, within cloneWindow
	gone      []goneEdge             // in the order they went; entries whose Edge came back are skipped
}

type goneEdge struct {
	edgeID string
	token  Token
}

// TableOptions are the registry's rules.
type TableOptions struct {
	MaxConnections         int
	RejectDuplicates       bool // duplicate_policy: reject
	HeartbeatInterval      time.Duration
	MaxHeartbeatsPerSecond int
	RetainDisconnected     time.Duration
	RetainDisconnectedMax  int
}

// Two live processes with one edge_id show themselves by taking it from each other.
const (
	cloneWindow  = 60 * time.Second
	cloneTakings = 5
	// maxHeartbeatInterval bounds how far a large fleet stretches its heartbeats.
	maxHeartbeatInterval = 5 * time.Minute
)

func newTable(opts TableOptions) *table {
	return &table{opts: opts, takings: map[string][]time.Time{}}
}

// claim is a connection that said a good hello and wants its edge_id.
type claim struct {
	hello *iopv1.EdgeHelloRequest
	pid   *actor.PID
	pulse *Pulse
	// silentOwner was pinged for this claim and didn't answer; 0: nobody was.
	silentOwner Token
}

// verdict is what becomes of a claim: granted, refused, to be turned away for now, or to be decided once the owner was asked.
type verdict struct {
	granted    *View
	superseded *View // who owned the id until now, or nil
	conflict   bool  // this claim made it a conflict

	fault      *wire.Fault
	overloaded bool
	askOwner   *View
}

// decide grants or refuses a claim. Granting is the takeover: from here on only the new token counts.
func (t *table) decide(c claim, now time.Time) verdict {
	old, _ := t.views.Get(c.hello.EdgeId)
	if old == nil || !old.Connected {
		if t.connected >= t.opts.MaxConnections {
			return verdict{overloaded: true}
		}
		t.connected++
		return verdict{granted: t.grant(c, old, now)}
	}
	conflict := false
	if old.InstanceID != c.hello.InstanceId {
		switch {
		case now.Before(old.ConflictUntil):
			return verdict{fault: &wire.Fault{Code: wire.ResourceExhausted,
				Message: "two instances are fighting over this edge_id; the present owner stays"}}
		case t.opts.RejectDuplicates && c.silentOwner != old.token:
			return verdict{askOwner: old}
		}
		// An owner that was asked and is silent isn't a live one: an Edge that restarts again and again isn't locked out by its dead links.
		if c.silentOwner != old.token {
			conflict = t.taken(c.hello.EdgeId, now)
		}
	}
	v := t.grant(c, old, now)
	v.Takeovers++
	if conflict {
		v.ConflictUntil = now.Add(cloneWindow)
	}
	return verdict{granted: v, superseded: old, conflict: conflict}
}

// grant stores the new owner's view. The caller may complete it before anybody else sees it.
func (t *table) grant(c claim, old *View, now time.Time) *View {
	t.lastToken++
	h := c.hello
	v := &View{
		EdgeID: h.EdgeId, Name: h.Name, Version: h.Version, InstanceID: h.InstanceId,
		Labels: NewLabels(h.Labels), Operations: NewOperationNames(h.Operations),
		Connected: true, ConnectedAt: now, Connections: 1,
		Pulse: c.pulse, token: t.lastToken, pid: c.pid,
	}
	if old != nil {
		v.Connections, v.Takeovers = old.Connections+1, old.Takeovers
		if old.Connected {
			v.ConflictUntil = old.ConflictUntil
		}
		// What the Edge said last stays its last word until it speaks again.
		c.pulse.snapshot.CompareAndSwap(nil, old.Pulse.snapshot.Load())
	}
	t.views.Set(h.EdgeId, v)
	return v
}

// taken counts one taking from a live owner by another instance, and tells whether it makes a conflict.
func (t *table) taken(edgeID string, now time.Time) bool {
	recent := within(t.takings[edgeID], now)
	recent = append(recent, now)
	if len(recent) < cloneTakings {
		t.takings[edgeID] = recent
		return false
	}
	delete(t.takings, edgeID) // a new conflict needs as many again
	return true
}

func within(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) > cloneWindow {
		times = times[1:]
	}
	return times
}

// owns tells whether a connection is the present owner of an id.
func (t *table) owns(edgeID string, token Token) bool {
	v, _ := t.views.Get(edgeID)
	return v != nil && v.Connected && v.token == token
}

// owner finds the view of a connected Edge; nil when it is unknown or gone.
func (t *table) owner(edgeID string) *View {
	if v, _ := t.views.Get(edgeID); v != nil && v.Connected {
		return v
	}
	return nil
}

// release ends a connection's ownership; nil when it owned nothing any more, and then nothing changed.
func (t *table) release(edgeID string, token Token, reason Reason, now time.Time) *View {
	if !t.owns(edgeID, token) {
		return nil
	}
	old, _ := t.views.Get(edgeID)
	v := *old
	v.Connected, v.DisconnectedAt, v.DisconnectReason = false, now, reason
	v.ConflictUntil, v.pid = time.Time{}, nil
	t.views.Set(edgeID, &v)
	t.connected--
	t.gone = append(t.gone, goneEdge{edgeID, token})
	return &v
}

// expire forgets disconnected Edges that are kept too long or are too many, oldest out first, and says which.
func (t *table) expire(now time.Time) (forgotten []string) {
	for len(t.gone) > 0 {
		v, _ := t.views.Get(t.gone[0].edgeID)
		if v == nil || v.Connected || v.token != t.gone[0].token { // it came back
			t.gone = t.gone[1:]
			continue
		}
		tooMany := t.views.Len()-t.connected > t.opts.RetainDisconnectedMax
		if !tooMany && now.Sub(v.DisconnectedAt) < t.opts.RetainDisconnected {
			break
		}
		t.views.Delete(v.EdgeID)
		delete(t.takings, v.EdgeID)
		t.gone = t.gone[1:]
		forgotten = append(forgotten, v.EdgeID)
	}
	t.compact()
	return forgotten
}

// compact drops what only an Edge that comes and goes leaves behind.
func (t *table) compact() {
	if len(t.gone) > 2*(t.views.Len()-t.connected)+64 {
		kept := make([]goneEdge, 0, t.views.Len()-t.connected)
		for _, g := range t.gone {
			if v, _ := t.views.Get(g.edgeID); v != nil && !v.Connected && v.token == g.token {
				kept = append(kept, g)
			}
		}
		t.gone = kept
	}
}

// forgetTakings drops those that are too old to make a conflict. It looks at all, so it is for the sweep and not for each end
// of a connection: when a region restarts there are as many of both.
func (t *table) forgetTakings(now time.Time) {
	for id, times := range t.takings {
		if len(within(times, now)) == 0 {
			delete(t.takings, id)
		}
	}
	if len(t.takings) == 0 {
		t.takings = map[string][]time.Time{} // the old one keeps the room of the most that it ever held
	}
}

// heartbeatInterval is the interval for the fleet as it is: where all heartbeats together would be over the limit it is stretched, to
// whole seconds, and never over five minutes.
func (t *table) heartbeatInterval() time.Duration {
	perSecond := t.opts.MaxHeartbeatsPerSecond
	if float64(t.connected) <= float64(perSecond)*t.opts.HeartbeatInterval.Seconds() {
		return t.opts.HeartbeatInterval
	}
	needed := time.Duration((t.connected+perSecond-1)/perSecond) * time.Second
	return max(t.opts.HeartbeatInterval, min(needed, maxHeartbeatInterval))
}

// conflictSentence names both instances for the event.
func conflictSentence(v verdict) string {
	return fmt.Sprintf("instances %q and %q took this edge_id from each other %d times within %v; %q stays",
		v.superseded.InstanceID, v.granted.InstanceID, cloneTakings, cloneWindow, v.granted.InstanceID)
}
