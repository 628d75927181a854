package actors

import (
	"maps"
	"slices"
	"time"

	"github.com/tidwall/btree"
)

// oplog keeps the operations, bounded: for the fleet, for each Edge, and in bytes. Of the records terminal ones go first,
// the oldest of them first, and what goes is counted. A record that a key still names, or whose command is under
// way, is no longer listed but lives on until neither holds.
type oplog struct {
	opts AuditOptions

	entries map[string]*entry
	fleet   btree.Map[string, *Operation] // by id, which grows with time
	edges   map[string]*edgeLog
	settled btree.Set[string] // ids of those listed that are terminal
	bytes   int               // of those listed
	dropped uint64

	keys     map[edgeKey]*keyUse
	keyOrder []*keyUse // oldest first; one that is no longer in keys is skipped
	kept     int       // bytes of those that are no longer listed

	maxBytes int
}

// AuditOptions bound the audit, in records.
type AuditOptions struct {
	FleetBuffer       int
	EdgeBuffer        int
	IdempotencyWindow time.Duration
}

// auditBytes bounds what all records hold together in parameters, results and texts; as much again may be held by those
// that are no longer listed. Beyond that the oldest keys go before their time.
const auditBytes = 256 << 20

// entry is one operation and what only its owner needs to know of it.
type entry struct {
	op     *Operation
	listed bool
	use    *keyUse // nil: no key names it
	flight flight
}

// edgeLog lives as long as it has something to tell: records, or how many are gone of an Edge that is still known.
type edgeLog struct {
	ops       btree.Map[string, *Operation]
	open      map[string]struct{} // ids of all that were sent and aren't terminal, also of those that are no longer listed
	dropped   uint64
	forgotten bool
	back      Token // of the newest connection whose Edge was asked about what is unsettled
	oneByOne  bool  // it is to be asked about one command at a time
}

type edgeKey struct{ edgeID, key string }

type keyUse struct {
	key         edgeKey
	entry       *entry
	fingerprint [32]byte
	at          time.Time
}

func newOplog(opts AuditOptions) *oplog {
	return &oplog{opts: opts, entries: map[string]*entry{}, edges: map[string]*edgeLog{}, keys: map[edgeKey]*keyUse{},
		maxBytes: auditBytes}
}

// add lists a new operation.
func (l *oplog) add(o *Operation) *entry {
	e := &entry{op: o, listed: true}
	l.entries[o.ID] = e
	edge := l.edges[o.EdgeID]
	if edge == nil {
		edge = &edgeLog{}
		l.edges[o.EdgeID] = edge
	}
	l.fleet.Set(o.ID, o)
	edge.ops.Set(o.ID, o)
	l.bytes += o.bytes()
	l.shrink(edge)
	return e
}

// update replaces a record.
func (l *oplog) update(e *entry, next *Operation) {
	grown := next.bytes() - e.op.bytes()
	e.op = next
	edge := l.track(next)
	if !e.listed {
		l.kept += grown
		l.letGo(e)
		l.boundKept()
		return
	}
	l.bytes += grown
	l.fleet.Set(next.ID, next)
	edge.ops.Set(next.ID, next)
	if next.State.Terminal() {
		l.settled.Insert(next.ID)
	}
	l.shrink(edge)
}

// track keeps what the Edge is to be asked about when it is back.
func (l *oplog) track(o *Operation) *edgeLog {
	edge := l.edges[o.EdgeID]
	switch {
	case o.SentAt.IsZero():
	case !o.State.Terminal():
		if edge == nil {
			edge = &edgeLog{}
			l.edges[o.EdgeID] = edge
		}
		if edge.open == nil {
			edge.open = map[string]struct{}{}
		}
		edge.open[o.ID] = struct{}{}
	case edge != nil:
		l.untrack(o.ID, edge)
		l.dropIfEmpty(o.EdgeID, edge)
	}
	return edge
}

func (l *oplog) untrack(id string, edge *edgeLog) {
	if delete(edge.open, id); len(edge.open) == 0 {
		edge.open = nil
	}
}

// remove takes back an operation that was refused before it was sent.
func (l *oplog) remove(e *entry) {
	if e.listed {
		l.unlist(e)
	} else {
		l.kept -= e.op.bytes()
	}
	if e.use != nil {
		delete(l.keys, e.use.key)
		l.compactKeys()
	}
	delete(l.entries, e.op.ID)
}

// shrink drops records until every bound holds.
func (l *oplog) shrink(edge *edgeLog) {
	for edge.ops.Len() > l.opts.EdgeBuffer {
		l.drop(oldestOf(&edge.ops))
	}
	for l.fleet.Len() > l.opts.FleetBuffer || l.bytes > l.maxBytes && l.fleet.Len() > 1 {
		id, ok := l.settled.Min()
		if !ok {
			id, _, _ = l.fleet.Min()
		}
		l.drop(id)
	}
}

func (l *oplog) drop(id string) {
	e := l.entries[id]
	l.dropped++
	l.edges[e.op.EdgeID].dropped++
	l.unlist(e)
	l.kept += e.op.bytes()
	l.letGo(e)
	l.boundKept()
}

// boundKept drops keys while what they keep is too much.
func (l *oplog) boundKept() {
	for l.kept > l.maxBytes && len(l.keyOrder) > 0 {
		l.dropOldestKey()
	}
}

// oldestOf gives the oldest terminal operation, or else the oldest.
func oldestOf(ops *btree.Map[string, *Operation]) string {
	oldest, _, _ := ops.Min()
	ops.Scan(func(id string, o *Operation) bool {
		if o.State.Terminal() {
			oldest = id
			return false
		}
		return true
	})
	return oldest
}

func (l *oplog) unlist(e *entry) {
	e.listed = false
	l.bytes -= e.op.bytes()
	l.fleet.Delete(e.op.ID)
	l.settled.Delete(e.op.ID)
	edge := l.edges[e.op.EdgeID]
	edge.ops.Delete(e.op.ID)
	l.dropIfEmpty(e.op.EdgeID, edge)
}

func (l *oplog) dropIfEmpty(edgeID string, edge *edgeLog) {
	if edge.ops.Len() == 0 && edge.open == nil && (edge.forgotten || edge.dropped == 0) {
		delete(l.edges, edgeID)
	}
}

// letGo forgets an entry that nothing names any more.
func (l *oplog) letGo(e *entry) {
	if _, there := l.entries[e.op.ID]; there && !e.listed && e.use == nil && !e.op.unanswered() {
		delete(l.entries, e.op.ID)
		l.kept -= e.op.bytes()
		if edge := l.edges[e.op.EdgeID]; edge != nil { // of one that is still unknown
			l.untrack(e.op.ID, edge)
			l.dropIfEmpty(e.op.EdgeID, edge)
		}
	}
}

// forgetEdge: the Edge is no longer known, so that the count of what is gone goes with its last record.
func (l *oplog) forgetEdge(edgeID string) {
	if edge := l.edges[edgeID]; edge != nil {
		edge.forgotten = true
		l.dropIfEmpty(edgeID, edge)
	}
}

// edgeBack: the Edge is known, again or still, and has a new connection.
func (l *oplog) edgeBack(edgeID string, token Token) {
	if edge := l.edges[edgeID]; edge != nil {
		edge.forgotten, edge.back = false, token
	}
}

// unsettled gives the ids of an Edge's operations that were sent and aren't terminal, oldest first.
func (l *oplog) unsettled(edgeID string) (ids []string) {
	if e := l.edges[edgeID]; e != nil {
		ids = slices.Sorted(maps.Keys(e.open))
	}
	return ids
}

// used finds what a key stands for; nil when it is free.
func (l *oplog) used(edgeID, key string, now time.Time) *keyUse {
	for len(l.keyOrder) > 0 && now.Sub(l.keyOrder[0].at) > l.opts.IdempotencyWindow {
		l.dropOldestKey()
	}
	return l.keys[edgeKey{edgeID, key}]
}

// setKey keeps a key for the window, however many operations come after; at most FleetBuffer keys, oldest out first.
func (l *oplog) setKey(key string, fingerprint [32]byte, e *entry, now time.Time) {
	e.use = &keyUse{key: edgeKey{e.op.EdgeID, key}, entry: e, fingerprint: fingerprint, at: now}
	l.keys[e.use.key] = e.use
	l.keyOrder = append(l.keyOrder, e.use)
	for len(l.keys) > l.opts.FleetBuffer {
		l.dropOldestKey()
	}
}

// compactKeys drops what commands that were refused leave behind.
func (l *oplog) compactKeys() {
	if len(l.keyOrder) > 2*len(l.keys)+64 {
		l.keyOrder = slices.DeleteFunc(l.keyOrder, func(use *keyUse) bool { return l.keys[use.key] != use })
	}
}

func (l *oplog) dropOldestKey() {
	use := l.keyOrder[0]
	l.keyOrder[0] = nil
	l.keyOrder = l.keyOrder[1:]
	if l.keys[use.key] == use {
		delete(l.keys, use.key)
		use.entry.use = nil
		l.letGo(use.entry)
	}
}

func (o *Operation) bytes() int {
	const fixed = 512
	n := fixed + len(o.Parameters) + len(o.Result) + len(o.Reason) + len(o.Message)
	for _, e := range o.Events {
		n += 96 + len(e.Message)
	}
	return n
}
