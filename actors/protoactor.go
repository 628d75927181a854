package actors

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
	"github.com/rs/zerolog"
)

// What must know protoactor's ways is in this file. Its version is pinned. These of its faults shaped what is here, and how the
// actors are written:
//   - whoever sends to a bounded mailbox that is full spins, and so does whoever sends to a nil PID;
//   - by default a parent that panics stops all its children first, and is restarted without its state;
//   - a panic in Stopping hangs the stop of the parent;
//   - what waits in the mailbox of an actor that is stopped is dropped, and not even told as a dead letter;
//   - a Future can have a result and an error, and wakes one waiter;
//   - dead letters are logged whole, tokens included.

// The library's table of processes is 1,024 maps of so many shards each. With its own 32 these are 32,768 small maps, which take 12 MB
// once each has held a process; a lock for each thousandth of the processes is plenty.
func init() { cmap.SHARD_COUNT = 1 }

// newActorSystem makes an actor system whose own talk goes to the log from warnings on, and whose dead letters are counted:
// below that level it tells of itself, and prints the messages of dead letters whole.
func newActorSystem(log zerolog.Logger, s *System) *actor.ActorSystem {
	as := actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
		}),
		actor.WithDeadLetterRequestLogging(false),
	)
	as.EventStream.Subscribe(func(event any) {
		switch e := event.(type) {
		case *actor.DeadLetterEvent:
			s.counters.deadLetters.Add(1)
			switch m := e.Message.(type) { // its connection broke down; nobody else will answer
			case *statusAsk:
				m.to.deliver(StatusReply{Fault: faultLost})
			case *dispatch:
				s.root().Send(s.operations, &commandRefused{m.operationID, faultDisconnected})
			}
		case *actor.SupervisorEvent:
			log.Error().Interface("reason", e.Reason).Msg("an actor panicked")
		}
	})
	return as
}

// resume: an owner of children or of records goes on with the next message after a panic, as it was. The library's
// default would restart it without them.
var resume = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.ResumeDirective })

// stop: a connection that panics is ended, and the peer dials again.
var stop = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })

// Mailboxes are unbounded because the library's bounded ones spin when they are full: every producer is bounded where it
// produces.
var mailbox = actor.WithMailbox(actor.UnboundedLockfree())

// rootProps is for actors that live as long as the system; their children are supervised by childStrategy.
func rootProps(make func() actor.Actor, childStrategy actor.SupervisorStrategy) *actor.Props {
	return actor.PropsFromProducer(make, mailbox, actor.WithSupervisor(childStrategy), actor.WithGuardian(resume))
}

// shortProps is for actors without a parent that end by themselves: one that panics is stopped.
func shortProps(make func() actor.Actor) *actor.Props {
	return actor.PropsFromProducer(make, mailbox, actor.WithGuardian(stop))
}

// childProps is for children: their parent's strategy supervises them, and the library refuses another.
func childProps(make func() actor.Actor) *actor.Props {
	return actor.PropsFromProducer(make, mailbox)
}
