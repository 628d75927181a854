package actors

import (
	"sync/atomic"
	"time"

	"iop/wire"
)

// counters are what the actors count; whoever shows metrics reads them through Metrics.
type counters struct {
	connected, unmatched, foreign, takeovers, eventsDropped, deadLetters, clients, tlsFailures, recordsDropped atomic.Int64

	// By words.
	refusals, clientRefusals, commandRefusals tally[string] // by code
	operations                                tally[Kind]   // steps
	unanswered                                tally[OperationState]
	durations                                 map[OperationState]*durations // from asked to ended, by the end

	edgeWire, clientWire wire.Traffic
	subscribers          atomic.Pointer[[]*subscriber] // of live events
	registry             punctuality
}

// Metrics are the actors' numbers at one moment. Those that count what happened only grow.
type Metrics struct {
	EdgesConnected   int64
	ClientsConnected int64 // Clients whose hello was accepted
	HellosWaiting    int   // connections of the Edge wire that have said nothing yet
	UnmatchedAnswers int64 // answers that belonged to nothing pending
	ForeignSnapshots int64 // snapshots that named another Edge than their sender's
	Takeovers        int64
	EventsDropped    int64 // that a live reader had no room for; it is cut off at the first
	DeadLetters      int64 // messages to actors that were gone

	TLSFailures         int64            // handshakes on the Edge wire
	HelloRefusals       map[string]int64 // of Edges, by code
	ClientHelloRefusals map[string]int64 // by code
	CommandRefusals     map[string]int64 // commands that were never sent and left no record, by code

	RecordsDropped       int64                        // of operations, to make room
	Operations           map[Kind]int64               // steps, by what happened
	OperationsUnanswered map[OperationState]int64     // now; pending is the queue of commands
	OperationDurations   map[OperationState]Durations // of those that ended, by how

	EdgeWire, ClientWire *wire.Traffic

	Subscribers    int // live readers of events, now
	LongestBacklog int // how many events the slowest of them has before it; at SubscriberBuffer it is cut off

	RegistryLag time.Duration // how late the registry is for what it is to do
}

func newCounters() *counters {
	c := &counters{
		refusals: newTally(string(wire.InvalidRequest), string(wire.Unauthenticated), string(wire.PermissionDenied),
			string(wire.FailedPrecondition), string(wire.ResourceExhausted), overloaded),
		clientRefusals: newTally(string(wire.InvalidRequest), string(wire.Unauthenticated), string(wire.FailedPrecondition)),
		commandRefusals: newTally(string(wire.EdgeNotFound), string(wire.EdgeDisconnected), string(wire.EdgeBusy),
			string(wire.ShuttingDown)),
		operations: newTally(CommandSent, CommandAccepted, CommandStarted, CommandProgress, CommandSucceeded, CommandFailed,
			CommandRejected, CommandCancelled, CommandExpired, CommandUnknown),
		unanswered: newTally(Pending, Sent),
		durations:  map[OperationState]*durations{},
	}
	for _, s := range []OperationState{Succeeded, Failed, Rejected, Cancelled, Expired} {
		c.durations[s] = &durations{}
	}
	return c
}

// overloaded is no code of a fault: such a hello is answered with GoAway.
const overloaded = "overloaded"

// moved counts an operation's step from one record to the next; from nil: it was asked for, to nil: it was refused.
func (c *counters) moved(from, to *Operation) {
	if from != nil && from.unanswered() {
		c.unanswered.add(from.State, -1)
	}
	switch {
	case to == nil:
	case to.unanswered():
		c.unanswered.add(to.State, 1)
	case to.State.Terminal() && !from.State.Terminal():
		c.durations[to.State].observe(to.FinishedAt.Sub(to.CreatedAt))
	}
}

// Metrics reads the counters.
func (s *System) Metrics() Metrics {
	c := s.counters
	m := Metrics{
		EdgesConnected: c.connected.Load(), ClientsConnected: c.clients.Load(),
		HellosWaiting:    max(0, len(s.hellos)-1), // one place is kept for the connection that is accepted next
		UnmatchedAnswers: c.unmatched.Load(), ForeignSnapshots: c.foreign.Load(),
		Takeovers: c.takeovers.Load(), EventsDropped: c.eventsDropped.Load(), DeadLetters: c.deadLetters.Load(), TLSFailures: c.tlsFailures.Load(),
		HelloRefusals: c.refusals.read(), ClientHelloRefusals: c.clientRefusals.read(), CommandRefusals: c.commandRefusals.read(),
		RecordsDropped: c.recordsDropped.Load(),
		Operations:     c.operations.read(), OperationsUnanswered: c.unanswered.read(), OperationDurations: map[OperationState]Durations{},
		EdgeWire: &c.edgeWire, ClientWire: &c.clientWire,
	}
	for state, d := range c.durations {
		m.OperationDurations[state] = d.read()
	}
	if subscribers := c.subscribers.Load(); subscribers != nil {
		m.Subscribers = len(*subscribers)
		for _, s := range *subscribers {
			m.LongestBacklog = max(m.LongestBacklog, len(s.live))
		}
	}
	m.RegistryLag = c.registry.lag(s.clock.mono())
	return m
}
