// Package actors is the Control Plane without its fronts: who is connected, what was asked of Edges and what came of it.
// System has the tree of actors and what fronts may ask. Each connection to an Edge is an actor that holds a token; the registry
// gives tokens out, and whoever holds the newest owns the id. What is decided about ids, operations and events is in plain types
// (table, oplog, Operation, pending, flight, history), which the actors carry out.
//
// Actors never block: they wait neither for a socket, nor for a log, nor for one another.
package actors

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// System is the tree of actors, and what fronts speak to:
//
//	root
//	 ├─ registry ── edge, one per connection
//	 ├─ operations
//	 ├─ events
//	 ├─ clients ── client, one per connection
//	 └─ fronts (StartFront)
type System struct {
	opts     Options
	log      zerolog.Logger
	actors   *actor.ActorSystem
	clock    clock
	counters *counters
	refusals zerolog.Logger
	keyring  atomic.Pointer[Keyring]

	heartbeat atomic.Int64  // the interval for the fleet as it is, in nanoseconds
	hellos    chan struct{} // a place for each connection that has said nothing yet

	statusCells sync.Pool // of *statusCell

	polling polling

	givenUp chan struct{} // closed when a drain's time is up: whoever still waits for an Edge is told so
	giveUp  func()

	registry, operations, events, clients *actor.PID
	edgeProps, clientProps                *actor.Props
}

// Options are what the actors need to know.
type Options struct {
	ServerID      string
	Version       string
	HelloTimeout  time.Duration
	MaxFrameBytes int
	MaxInFlight   int // requests unanswered at one Edge; over it the next caller is told busy
	Link          wire.LinkOptions
	Table         TableOptions
	History       HistoryOptions
	Audit         AuditOptions
	Keyring       *Keyring
	Log           zerolog.Logger
}

// maxHellos is how many connections may have said nothing yet. When all places are taken no further connection is accepted
// until one says hello or its time is up; those who dial wait in the kernel's queue.
const maxHellos = 4096

const refusalsASecond = 10

// NewSystem starts the actors.
func NewSystem(opts Options) *System {
	s := &System{opts: opts, log: opts.Log, clock: newClock(), counters: newCounters(), hellos: make(chan struct{}, maxHellos)}
	s.refusals = s.log.Sample(&zerolog.BurstSampler{Burst: refusalsASecond, Period: time.Second})
	s.opts.Link.Traffic = &s.counters.edgeWire
	s.statusCells.New = newStatusCell
	s.givenUp = make(chan struct{})
	s.giveUp = sync.OnceFunc(func() { close(s.givenUp) })
	s.keyring.Store(opts.Keyring)
	s.heartbeat.Store(int64(opts.Table.HeartbeatInterval))
	s.actors = newActorSystem(opts.Log, s)
	s.edgeProps = childProps(func() actor.Actor { return newEdge(s) })
	s.clientProps = childProps(func() actor.Actor { return &client{sys: s} })
	// Events and operations first: the registry speaks to them from its first message on.
	s.events = s.actors.Root.Spawn(rootProps(func() actor.Actor { return newEvents(s) }, resume))
	s.operations = s.actors.Root.Spawn(rootProps(func() actor.Actor { return newOperations(s) }, resume))
	s.registry = s.actors.Root.Spawn(rootProps(func() actor.Actor { return newRegistry(s) }, stop))
	s.clients = s.actors.Root.Spawn(rootProps(func() actor.Actor { return &clients{sys: s} }, stop))
	return s
}

// Keys returns the tokens that are valid now.
func (s *System) Keys() *Keyring { return s.keyring.Load() }

// SetKeys replaces them; connections that were admitted stay.
func (s *System) SetKeys(k *Keyring) { s.keyring.Store(k) }

// HeartbeatInterval is the interval for the fleet as it is.
func (s *System) HeartbeatInterval() time.Duration { return time.Duration(s.heartbeat.Load()) }

// arrived gives back a place among the connections that have said nothing yet.
func (s *System) arrived() { <-s.hellos }

// Drain turns away what is new, says GoAway to every Edge and Client, and waits until no command is unanswered and nobody is
// connected, or until the context ends. Commands that are then still unanswered become unknown, and whoever waits for a
// status is told shutting_down.
func (s *System) Drain(ctx context.Context) {
	for _, pid := range []*actor.PID{s.registry, s.clients} {
		done := make(chan struct{})
		s.root().Send(pid, &drain{done: done})
		_, _ = await(ctx, done)
	}
	for s.busy(ctx) {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.giveUp()
	ended := make(chan struct{})
	s.root().Send(s.operations, &endAll{done: ended})
	_, _ = await(context.WithoutCancel(ctx), ended)
}

// busy asks whether there is still something to wait for, and whether there is time to.
func (s *System) busy(ctx context.Context) bool {
	counts := make(chan int, 3)
	s.root().Send(s.operations, &underWayAsk{to: counts})
	s.root().Send(s.registry, &connectionsAsk{to: counts})
	s.root().Send(s.clients, &connectionsAsk{to: counts})
	sum := 0
	for range cap(counts) {
		select {
		case n := <-counts:
			sum += n
		case <-ctx.Done():
			return false
		}
	}
	return sum > 0 && ctx.Err() == nil
}

// Stop ends the actors: clients, the registry with its connections, then operations, then events. Fronts are stopped before.
func (s *System) Stop() {
	for _, pid := range []*actor.PID{s.clients, s.registry, s.operations, s.events} {
		_ = s.root().PoisonFuture(pid).Wait() // its own timeout bounds it
	}
	s.stopPolling()
	s.actors.Shutdown()
}

func (s *System) root() *actor.RootContext { return s.actors.Root }

// after sends a message when some time has passed.
func (s *System) after(d time.Duration, to *actor.PID, message any) *time.Timer {
	return time.AfterFunc(d, func() { s.root().Send(to, message) })
}

// readerPanicked ends the connection whose frame was the end of its reader, and only that: all Edges share the poller's goroutine.
func (s *System) readerPanicked(reason any, link wire.Link) {
	s.log.Error().Interface("reason", reason).Bytes("stack", debug.Stack()).Msg("reading a frame panicked")
	link.Abort()
}

// refused counts a hello that was refused, and leaves a line for whoever looks for the site: at most refusalsASecond, the rest is
// only counted, so that a fleet that dials in vain doesn't fill the log.
func (s *System) refused(edgeID, code, why string) {
	s.counters.refusals.add(code, 1)
	s.refusals.Info().Str("edge_id", clip(edgeID, wire.MaxIDBytes)).Str("code", code).Str("why", why).Msg("an Edge was refused")
}

// tlsFailed counts a handshake that failed, and leaves a line, as refused does. Whose connection it was isn't known.
func (s *System) tlsFailed(from net.Addr, err error) {
	s.counters.tlsFailures.Add(1)
	s.refusals.Info().Stringer("from", from).Str("why", clip(err.Error(), maxMessageBytes)).Msg("a TLS handshake failed")
}

// logEdgeError puts what an Edge said only into the log: it may hold anything.
func (s *System) logEdgeError(edgeID string, e *iopv1.Error) {
	s.log.Warn().Str("edge_id", edgeID).Str("code", errorCodeName(e.Code)).Str("said", clip(e.Message, maxMessageBytes)).Msg("an Edge answered with an error")
}

// logNonsense leaves a line where the caller is told no more than that.
func (s *System) logNonsense(edgeID string) {
	s.log.Warn().Str("edge_id", edgeID).Msg("an Edge's answer made no sense")
}
