package actors

import (
	"time"

	"iop/wire"
)

// The model: what operators are promised of Edges and commands, without actors, queues or locks. One thing happens at a time.

type model struct {
	now    time.Duration
	edges  [3]modelEdge
	conns  []*modelConn
	ops    []*modelCommand
	status []*modelStatus

	draining bool
	stopAt   time.Duration // when the drain's time is up
}

type modelEdge struct {
	owner                  *modelConn
	connections, takeovers int
	since                  time.Duration // of the owner, or of the last one's end
	reason                 Reason
	takings                []time.Duration // from a live owner by another instance, within a minute
	conflictUntil          time.Duration
	snapshot               string       // the node that the newest one names
	oneByOne               bool         // it is asked about one command at a time
	events                 []modelEvent // that nobody has compared yet
}

type modelConn struct {
	edge     int
	instance int
	over     bool // serves no more
	leaving  bool
	lastSeen time.Duration
	stuck    bool          // the peer reads nothing
	since    time.Duration // stuck, and a frame is being written: since when
	writing  bool
	drained  time.Duration // draining: when the last of those who were waited for stops waiting
	asked    []question    // what it was asked and hasn't answered, oldest first

	past       []*modelCommand // earlier commands that it is still to be asked about
	inquiry    []*modelCommand // those that it is asked about, nil when none are
	inquiredAt time.Duration
}

// question is one of a status, a command, and what became of an earlier command.
type question struct {
	id       uint64 // on the wire, once it came
	deadline time.Duration
	status   *modelStatus
	op       *modelCommand
	past     []*modelCommand
}

type modelCommand struct {
	modelRecord
	number   int
	edge     int
	removed  bool        // refused as if it had never been asked
	told     bool        // a caller has it already
	fault    *wire.Fault // that ended its wait
	callers  []modelCaller
	conn     *modelConn
	deadline time.Duration
	late     bool // its first wait is over
	unheard  bool // the last that its Edge said is that it doesn't know it
}

// modelRecord is what the audit says of a command.
type modelRecord struct {
	state                     OperationState
	sent, responded, finished time.Duration // never, or when
	notes                     string
}

const never = time.Duration(-1)

type modelCaller struct {
	wait  bool
	reply string // in words; empty until it is answered
}

type modelStatus struct {
	edge     int
	deadline time.Duration
	reply    string
}

// modelEvent is one of an Edge's events.
type modelEvent struct {
	at    time.Duration
	kind  Kind
	about string // a command or a node, or why an Edge was disconnected
}

// due gives the next moment at which time alone changes something, and what.
func (m *model) due() (at time.Duration, change func()) {
	at = 1 << 62
	sooner := func(when time.Duration, what func()) {
		if when < at {
			at, change = when, what
		}
	}
	for _, s := range m.status {
		if s.reply == "" {
			sooner(s.deadline, func() { m.failStatus(s, faultTimeout) })
		}
	}
	for _, o := range m.ops {
		if !o.late && (o.state == Sent || o.state == Pending) {
			sooner(o.deadline, func() {
				o.late = true
				if o.state == Sent {
					m.unknown(o, faultTimeout)
				} else {
					m.becomes(o, Expired, "expired", faultNotSent)
				}
			})
		}
	}
	for _, c := range m.conns {
		if c.over {
			continue
		}
		if c.writing {
			sooner(c.since+modelWriteTimeout, func() { m.end(c, WriteTimeout) })
		}
		if c.drained != never {
			sooner(c.drained, func() { m.end(c, Shutdown) })
		}
		if c.inquiry != nil {
			sooner(c.inquiredAt+queryTime, func() { m.inquired(c, c.inquiry) })
		}
		sooner(foundSilent(c.lastSeen), func() { m.end(c, HeartbeatTimeout) })
	}
	if m.draining && m.stopAt != never {
		sooner(m.stopAt, m.stop)
	}
	return at, change
}

// advance lets time pass.
func (m *model) advance(d time.Duration) {
	until := m.now + d
	for {
		at, change := m.due()
		if at > until {
			m.now = until
			return
		}
		m.now = at
		change()
	}
}

const (
	modelHeartbeat    = 16 * time.Second
	modelHelloTimeout = 10 * time.Second
	modelWriteTimeout = 9900 * time.Millisecond // so that nothing else falls into the same instant
)

// foundSilent is when a sweep, one each eighth of the interval, finds that nothing was heard for 2.5 intervals.
func foundSilent(lastSeen time.Duration) time.Duration {
	const sweep = modelHeartbeat / 8
	return ((lastSeen+modelHeartbeat*5/2)/sweep + 1) * sweep
}
