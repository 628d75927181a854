package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// The messages between registry, connections and operations, grouped by who sends them to whom; an actor's further messages are in its
// own file. Each is a pointer to a struct that is not changed once it was sent.

// Fronts → registry.
type (
	// fleetAsk is answered with a copy of the views.
	fleetAsk struct {
		to chan<- *Fleet // its moment is not set
	}

	// statusAsk goes to the registry, which forwards it to the Edge's actor; that answers, or the registry where it can't.
	statusAsk struct {
		edgeID   string
		timeout  time.Duration
		deadline int64 // monotonic
		to       statusSink
	}

	// accepted is a connection that has said nothing yet.
	accepted struct{ newcomer }

	// connectionsAsk is answered with how many connections there are, of any phase.
	connectionsAsk struct{ to chan<- int }

	// drain: turn away what is new, say GoAway to all, spread.
	drain struct{ done chan<- struct{} }
)

// statusSink takes the one answer to a statusAsk; it never blocks.
type statusSink interface{ deliver(StatusReply) }

// Registry → edge. A *statusAsk, *dispatch or *queryCommands is forwarded as it came.
type (
	start struct{ newcomer }

	// decided answers a claimAsk.
	decided struct {
		token    Token // 0: not granted
		interval time.Duration
		fault    *wire.Fault
		noRoom   string // with neither: why it is to come back later
	}

	// claimGone answers a claimWithdrawn: no decided comes behind it.
	claimGone struct{}

	// superseded: a newer connection owns the id.
	superseded struct{ view *View }

	// released answers an ended: the registry forwards nothing here any more.
	released struct{ view *View } // as the registry has the Edge now; nil when it doesn't know it

	// probeOwner: another instance claims the id; ping the peer and say whether it answers in time.
	probeOwner struct{ deadline int64 }

	// goAway: the Control Plane is stopping; answer what is pending, then close.
	goAway struct{ reconnectAfter time.Duration }
)

// Edge → registry.
type (
	claimAsk struct {
		pid   *actor.PID
		hello *iopv1.EdgeHelloRequest
		pulse *Pulse
		gone  func() bool // whether the claimant has hung up by now; nothing that it says is read while it waits
	}

	// claimWithdrawn: the claimant's link ended before the claim was decided, as far as it knows.
	claimWithdrawn struct {
		pid *actor.PID
		// stopped is the id that was claimed, where the claimant has stopped: it would not hear that it was granted. Else empty.
		stopped string
	}

	// ended: this connection serves no more.
	ended struct {
		pid    *actor.PID
		edgeID string
		token  Token
		reason Reason
	}

	// ownerAnswered: the peer answered the Ping of a probeOwner.
	ownerAnswered struct{ token Token }

	// said is what an Edge said of its nodes and commands. The registry passes it on when its connection owns the id, and
	// else drops it: exactly one of the targets is set.
	said struct {
		edgeID string
		token  Token
		credit *credit
		event  *Event         // → events
		answer *commandAnswer // → operations
		notice *commandNotice // → operations
		query  *queryAnswered // → operations
	}
)

// Edge → itself.
type (
	// drainDue: whoever was waited for when the drain began has stopped waiting.
	drainDue struct{}
	// greetingDue: this phase of the greeting has taken its time.
	greetingDue struct{ phase phase }
)

// Registry → itself.
type (
	sweepDue   struct{}
	probeEnded struct{ probe *probe }
)

// Sweep → edge.
type silent struct{}

// Reader, link → edge. Every decoded *iopv1.Envelope but a Ping and a status comes as it is.
type (
	// statusRead is a status with what is kept of it, made by the reader.
	statusRead struct {
		envelope *iopv1.Envelope
		snapshot *Snapshot
	}
	helloRead struct {
		envelope  *iopv1.Envelope
		certNames []string
	}
	// linkFault: the peer broke the framing; the reader reads no more.
	linkFault struct{ fault *wire.Fault }
	// linkEnded is the reader's last word; the socket is closed.
	linkEnded  struct{}
	frameBegun struct{ operationID string }
	stalled    struct{}
)

// Operations → registry → edge.
type (
	// dispatch is a command on its way to be written, once.
	dispatch struct {
		operationID string
		edgeID      string
		request     *iopv1.EdgeCommandRequest
		deadline    int64 // monotonic; for the Edge's first answer
	}
	// withdraw takes a command back that was not written yet. It goes to the connection that queued it.
	withdraw struct{ operationID string }

	// queryCommands asks a returned Edge about commands that it was sent.
	queryCommands struct {
		edgeID string
		ids    []string
	}
)

// Edge, registry → operations.
type (
	// commandRefused: never written, and never will be.
	commandRefused struct {
		operationID string
		fault       *wire.Fault
	}
	// commandQueued: waits behind other frames of its connection.
	commandQueued struct {
		operationID string
		pid         *actor.PID
	}
	// commandSent: its first byte is on the way.
	commandSent struct {
		operationID string
		token       Token
		at          time.Time
	}
	// commandWithdrawn: taken back unwritten.
	commandWithdrawn struct{ operationID string }
	// commandsLost: the connection ended with these unanswered.
	commandsLost struct {
		token Token
		ids   []string
	}
	// commandAnswer is the Edge's answer to a command, or nonsense where both are nil.
	commandAnswer struct {
		operationID string
		response    *iopv1.EdgeCommandResponse
		result      json.RawMessage // of the response, as JSON
		err         *iopv1.Error
		late        bool // nobody waits for it any more; it is matched by its command_id, or by a request that has timed out
	}
	// commandNotice is an EdgeCommandEvent.
	commandNotice struct {
		event  *iopv1.EdgeCommandEvent
		result json.RawMessage
	}
	// queryAnswered is what a returned Edge knows, and doesn't know, of the commands that it was asked about; nothing where it can't
	// say.
	queryAnswered struct {
		question *queryCommands
		answers  []*commandAnswer
		unknown  []string
	}
	// notAsked: queryCommands met an Edge that was gone again.
	notAsked struct{ edgeID string }

	// edgeBack: a connection was granted this id; what was sent to an older one is lost.
	edgeBack struct {
		edgeID string
		token  Token
	}
	// edgeForgotten: the registry no longer lists this Edge. Operations pass it on to events.
	edgeForgotten struct{ edgeID string }
)

// Registry → operations → events: one way for all, so that events are listed in the order in which they came about.
type publish struct {
	event  *Event
	credit *credit
}
