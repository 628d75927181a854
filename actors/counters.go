package actors

import "sync/atomic"

// counters are what the actors count; whoever shows metrics reads them through Metrics.
type counters struct {
	connected, unmatched, foreign, takeovers, eventsDropped, deadLetters atomic.Int64

	refusals   map[string]*atomic.Int64 // hello refusals by code; the keys never change
	operations map[Kind]*atomic.Int64   // steps of operations by kind; the keys never change
}

// Metrics are the actors' numbers at one moment; but for EdgesConnected they only grow.
type Metrics struct {
	EdgesConnected   int64
	UnmatchedAnswers int64 // answers that belonged to nothing pending
	ForeignSnapshots int64 // snapshots that named another Edge than their sender's
	Takeovers        int64
	EventsDropped    int64            // live readers that were cut off because they couldn't keep up
	DeadLetters      int64            // messages to actors that were gone
	HelloRefusals    map[string]int64 // by code
	Operations       map[Kind]int64   // by what happened to them
}

func newCounters() *counters {
	c := &counters{refusals: map[string]*atomic.Int64{}, operations: map[Kind]*atomic.Int64{}}
	for _, code := range []string{"invalid_request", "unauthenticated", "permission_denied", "failed_precondition", "resource_exhausted", "overloaded"} {
		c.refusals[code] = &atomic.Int64{}
	}
	for _, k := range []Kind{CommandSent, CommandAccepted, CommandStarted, CommandProgress, CommandSucceeded, CommandFailed,
		CommandRejected, CommandCancelled, CommandExpired, CommandUnknown} {
		c.operations[k] = &atomic.Int64{}
	}
	return c
}

func (c *counters) refused(code string) { c.refusals[code].Add(1) }

func (c *counters) operation(k Kind) { c.operations[k].Add(1) }

// Metrics reads the counters.
func (s *System) Metrics() Metrics {
	c := s.counters
	m := Metrics{
		EdgesConnected: c.connected.Load(), UnmatchedAnswers: c.unmatched.Load(), ForeignSnapshots: c.foreign.Load(),
		Takeovers: c.takeovers.Load(), EventsDropped: c.eventsDropped.Load(), DeadLetters: c.deadLetters.Load(),
		HelloRefusals: map[string]int64{}, Operations: map[Kind]int64{},
	}
	for code, n := range c.refusals {
		m.HelloRefusals[code] = n.Load()
	}
	for k, n := range c.operations {
		m.Operations[k] = n.Load()
	}
	return m
}
