package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// flight is what is known of a command while it is on its way, and how its first wait ended.
type flight struct {
	request  *iopv1.EdgeCommandRequest // until it is sent
	deadline int64                     // monotonic
	timer    *time.Timer
	late     bool       // its time is up, but whether it was written is not known
	queuedBy *actor.PID // the connection whose queue it waits in
	token    Token      // of the connection that carried it
	lost     Token      // of the connection that ended while its link was about to say that it carries it
	told     bool       // somebody was told that it is on its way: its record must stay
	wait     bool       // as the first caller does
	waiters  []waiter

	fault     *wire.Fault // how the wait ended, for those who repeat the request
	edgeError string
}

type waiter struct {
	to   chan<- CommandReply
	wait bool
}

// carriedBy: a connection has begun to write the command; true: it has ended meanwhile, and the command is lost with it.
func (e *entry) carriedBy(t Token) (lost bool) {
	e.flight.token, e.flight.request, e.flight.queuedBy = t, nil, nil
	return e.flight.lost == t
}

// lostWith: a connection has ended that could not take the command back; true: it had carried it. Where that isn't known yet, the
// link's word may still be on its way.
func (e *entry) lostWith(t Token) (lost bool) {
	if e.op.unsent() {
		e.flight.lost = t
	}
	return e.op.State == Sent && e.flight.token == t
}

// carriedBefore tells whether the command is unanswered on a connection older than this one, which has taken its Edge's id.
func (e *entry) carriedBefore(t Token) bool { return e.op.State == Sent && e.flight.token < t }

// backSince tells whether the Edge has been back on a newer connection.
func (l *edgeLog) backSince(t Token) bool { return l != nil && l.back > t }
