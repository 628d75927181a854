package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// linkEvents brings what happens to a link to the connection's actor. Operations are told directly that a command is being
// written: by way of the actor, what follows from the command could overtake it.
type linkEvents struct {
	sys   *System
	pid   *actor.PID
	token Token
}

func (l *linkEvents) FrameBegun(operationID string) {
	l.sys.root().Send(l.sys.operations, &commandSent{operationID, l.token, time.Now()})
	l.send(&frameBegun{operationID})
}

func (l *linkEvents) WriteStalled() { l.send(&stalled{}) }

func (l *linkEvents) send(m any) { l.sys.root().Send(l.pid, m) }
