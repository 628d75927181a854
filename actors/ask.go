package actors

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// What fronts ask of System, but for Gather. Each method is a message to the owner of what is asked and a wait for its
// answer; each ends with the context at the latest, and none needs an actor's address.

// answerTime is how long the Control Plane has to answer out of its own memory, before the asker is told internal.
const answerTime = 10 * time.Second

// StatusReply answers a status request.
type StatusReply struct {
	View     *View                     // of an Edge that isn't connected (any more); else nil
	Snapshot *Snapshot                 // nil with a Fault
	Nodes    []*iopv1.EdgeNodeSnapshot // the Snapshot's, decoded already; not to be changed
	Fault    *wire.Fault               // edge_not_found, edge_disconnected, edge_busy, edge_error, edge_timeout, shutting_down
	// EdgeError is the Edge's code without its prefix (INTERNAL) where Fault is edge_error; empty: nonsense.
	EdgeError string
}

// statusCell waits for one status answer: the message, the channel and the timer of an ask, reused together once it was
// answered. One whose time was up is never used again: its answer may still come.
type statusCell struct {
	ask    statusAsk
	answer chan StatusReply
	timer  *time.Timer
}

func (c *statusCell) deliver(r StatusReply) {
	select {
	case c.answer <- r:
	default: // answered already
	}
}

func newStatusCell() any {
	c := &statusCell{answer: make(chan StatusReply, 1), timer: time.NewTimer(time.Hour)}
	c.ask.to = c
	return c
}

// Status asks an Edge for its snapshot, now, and waits at most timeout.
func (s *System) Status(ctx context.Context, edgeID string, timeout time.Duration) StatusReply {
	c := s.statusCells.Get().(*statusCell)
	c.ask.edgeID, c.ask.timeout, c.ask.deadline = edgeID, timeout, s.clock.mono()+int64(timeout)
	c.timer.Reset(timeout)
	s.root().Send(s.registry, &c.ask)
	select {
	case r := <-c.answer:
		c.timer.Stop()
		s.statusCells.Put(c)
		return r
	case <-c.timer.C:
		return StatusReply{Fault: faultTimeout}
	case <-s.givenUp:
		return StatusReply{Fault: faultShuttingDown}
	case <-ctx.Done():
		return StatusReply{Fault: faultTimeout}
	}
}

// await waits for an answer out of the Control Plane's own memory.
func await[T any](ctx context.Context, answer <-chan T) (T, *wire.Fault) {
	return awaitFor(ctx, answer, answerTime, nil)
}

// awaitFor also ends when givenUp is closed, where it isn't nil.
func awaitFor[T any](ctx context.Context, answer <-chan T, most time.Duration, givenUp <-chan struct{}) (a T, f *wire.Fault) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case a = <-answer:
		return a, nil
	case <-givenUp:
		return a, faultShuttingDown
	case <-timer.C:
	case <-ctx.Done():
	}
	return a, faultSystem
}

// Fleet gives the registry's views as they are now.
func (s *System) Fleet(ctx context.Context) (*Fleet, *wire.Fault) {
	to := make(chan *Fleet, 1)
	s.root().Send(s.registry, &fleetAsk{to: to})
	fleet, f := await(ctx, to)
	if f != nil {
		return nil, f
	}
	fleet.At = time.Now()
	fleet.mono = s.clock.at(fleet.At)
	return fleet, nil
}

// Command dispatches a command. The caller has seen to it that the Edge is known and lists the operation. It answers when the
// Edge did, at the latest when the command's time is up; without Wait, once the command is on its way.
func (s *System) Command(ctx context.Context, ask *CommandAsk) CommandReply {
	request := &iopv1.EdgeCommandRequest{Operation: ask.Operation, NodeId: ask.NodeID, Parameters: ask.Parameters,
		Timeout: durationpb.New(ask.Timeout), RequestedBy: ask.RequestedBy, RequestId: ask.RequestID}
	to, recorded := make(chan CommandReply, 1), make(chan string, 1)
	s.root().Send(s.operations, &commandAsk{ask: ask, request: request, recorded: recorded, to: to})
	s.logCommand(ask, recorded)
	timer := time.NewTimer(ask.Timeout + withdrawTime + answerTime)
	defer timer.Stop()
	select {
	case r := <-to:
		return r
	case <-timer.C:
	case <-ctx.Done(): // a caller that hangs up ends nothing
	}
	return CommandReply{Fault: faultSystem}
}

// logCommand leaves the line that leads from a request to its operation, also from one that repeats another. It is written
// here and not by the owner of the records, who must not wait for a log; and at once, so that it is there even if the
// command is never answered.
func (s *System) logCommand(ask *CommandAsk, recorded <-chan string) {
	id, f := await(context.Background(), recorded) // not the caller's context: hanging up must not lose the line
	if f != nil || id == "" {
		return
	}
	e := s.log.Info().Str("request_id", ask.RequestID).Str("operation_id", id).Str("edge_id", ask.EdgeID).Str("operation", ask.Operation)
	if ask.RequestedBy != "" {
		e = e.Str("requested_by", ask.RequestedBy)
	}
	e.Msg("command")
}

// Operation finds one record; operation_not_found when it isn't this Edge's, or not kept.
func (s *System) Operation(ctx context.Context, edgeID, operationID string) (*Operation, *wire.Fault) {
	to := make(chan *Operation, 1)
	s.root().Send(s.operations, &operationAsk{edgeID: edgeID, operationID: operationID, to: to})
	o, f := await(ctx, to)
	if f == nil && o == nil {
		f = faultOperationNotFound
	}
	return o, f
}

// Operations gives a page of the audit.
func (s *System) Operations(ctx context.Context, q OperationQuery) (OperationPage, *wire.Fault) {
	to := make(chan audit, 1)
	s.root().Send(s.operations, &auditAsk{edgeID: q.EdgeID, to: to})
	a, f := await(ctx, to)
	if f != nil {
		return OperationPage{}, f
	}
	return a.page(q), nil
}

// page reads a page out of a copy of the records.
func (a audit) page(q OperationQuery) OperationPage {
	page := OperationPage{Dropped: a.dropped}
	visit := func(id string, o *Operation) bool {
		if id == q.Before || q.State != "" && o.State != q.State {
			return true
		}
		if len(page.Operations) == q.Limit {
			page.More = true
			return false
		}
		page.Operations = append(page.Operations, o)
		return true
	}
	if q.Before == "" {
		a.ops.Reverse(visit)
	} else {
		a.ops.Descend(q.Before, visit)
	}
	return page
}

// Events gives a page of the fleet's events or of one Edge's.
func (s *System) Events(ctx context.Context, q EventQuery) (EventPage, *wire.Fault) {
	to := make(chan EventPage, 1)
	s.root().Send(s.operations, &eventsAsk{query: q, to: to})
	return await(ctx, to)
}

// Subscribe starts a live stream of events, from now on, or after an event's id. The caller cancels it.
func (s *System) Subscribe(ctx context.Context, after string) (*Subscription, *wire.Fault) {
	who := &subscriber{live: make(chan *LiveEvent, SubscriberBuffer)}
	to := make(chan *Subscription, 1)
	s.root().Send(s.operations, &subscribeAsk{who: who, after: after, to: to})
	sub, f := await(ctx, to)
	if f != nil { // the ask is under way all the same
		s.root().Send(s.operations, &unsubscribe{who: who})
	}
	return sub, f
}
