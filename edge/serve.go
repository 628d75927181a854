package edge

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	// goAwayTime is how long an Edge that was told to go stays for the Control Plane to close.
	goAwayTime = 30 * time.Second
	// stopTime is how long an Edge that stops waits for its commands to end.
	stopTime = 2 * time.Second
	// closeTime is how long a finished connection may take to close; a little more than its linger time.
	closeTime = time.Second
)

// serving is the owner of one connection: one goroutine, all of whose decisions are made in this order of select.
type serving struct {
	edge   *Edge
	conn   *connection
	beat   *heartbeat
	pushes pushes
	ping   struct { // the last one sent
		id uint64
		at time.Time
	}
	end      dial.Ending
	leaveBy  time.Time // when set: the connection is finished then at the latest
	abortBy  time.Time // when set: it is finished, and ended the hard way then
	tooLarge bool      // the snapshot is; said once
}

// serve handles a connection until it is over, whoever ends it.
func (e *Edge) serve(ctx context.Context, c *connection) dial.Ending {
	s := &serving{edge: e, conn: c, beat: newHeartbeat(c.heartbeat, c.since)}
	go c.read()
	if dropped := e.up.attach(c); dropped > 0 {
		e.log.Warn("Events were lost while there was no connection.", "events", dropped)
	}
	defer e.up.detach(c)

	stopping := ctx.Done()
	var commandsEnded <-chan struct{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case message, open := <-c.in:
			if !open {
				return s.ended(time.Now())
			}
			s.take(message, time.Now())
		case <-timer.C:
		case <-e.news:
			s.pushes.changed = true
		case <-stopping:
			stopping = nil
			commandsEnded = s.sayGoodbye(time.Now())
		case <-commandsEnded:
			commandsEnded = nil
			s.finish(time.Now())
		}
		timer.Reset(time.Until(s.act(time.Now())))
	}
}

// act does what is due and gives when to look again.
func (s *serving) act(now time.Time) (wake time.Time) {
	if !s.abortBy.IsZero() {
		if !now.Before(s.abortBy) {
			s.conn.link.Abort()
		}
		return now.Add(closeTime)
	}
	switch {
	case !now.Before(s.beat.silentAt()):
		s.conn.ended("The Control Plane was silent for too long.")
		s.conn.link.Abort()
		s.abortBy = now
		return now.Add(closeTime)
	case !s.leaveBy.IsZero() && !now.Before(s.leaveBy):
		s.finish(now)
		return now.Add(closeTime)
	}
	if s.beat.due(now) {
		s.sendPing(now)
	}
	if s.pushes.due(now) {
		s.push(now)
	}
	return s.wake()
}

func (s *serving) wake() time.Time {
	at := s.beat.wake()
	if push, waiting := s.pushes.wake(); waiting {
		at = earlier(at, push)
	}
	if !s.leaveBy.IsZero() {
		at = earlier(at, s.leaveBy)
	}
	return at
}

func (s *serving) sendPing(now time.Time) {
	s.ping.id++
	s.ping.at = now
	s.conn.send(&iopv1.Envelope{Id: s.ping.id, Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.New(now)}}})
}

func (s *serving) push(now time.Time) {
	nodes := s.edge.opts.Site.Nodes()
	if !s.pushes.take(nodes, now) {
		return
	}
	if e := s.snapshot(0, nodes, now); e != nil && s.conn.trySend(e) == wire.Full {
		s.pushes.refused()
	}
}

// snapshot is the message with a snapshot, or nil when it is over the frame limit.
func (s *serving) snapshot(replyTo uint64, nodes []Node, now time.Time) *iopv1.Envelope {
	e := &iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_EdgeStatusResponse{
		EdgeStatusResponse: snapshotOnWire(s.edge.opts.ID, now, nodes),
	}}
	if s.conn.fits(e) {
		s.tooLarge = false
		return e
	}
	if !s.tooLarge {
		s.tooLarge = true
		s.conn.log.Error("The snapshot is over the frame limit and can't be told.", "bytes", proto.Size(e), "max_frame_bytes", s.conn.maxFrame)
	}
	return nil
}

// sayGoodbye tells the Control Plane that the Edge stops, and the commands too. The connection serves on until the last
// of them has ended and said so.
func (s *serving) sayGoodbye(now time.Time) (commandsEnded <-chan struct{}) {
	s.conn.ended("The Edge is stopping.")
	s.conn.send(&iopv1.Envelope{Body: &iopv1.Envelope_GoAway{GoAway: &iopv1.GoAway{Reason: iopv1.GoAwayReason_GO_AWAY_REASON_EDGE_STOPPING}}})
	s.leaveBy = now.Add(stopTime)
	return s.edge.commands.stop()
}

func (s *serving) finish(now time.Time) {
	if s.abortBy.IsZero() {
		s.abortBy = now.Add(closeTime)
		s.conn.link.Finish()
	}
}

// ended is how the connection ended: as a GoAway told, else as it was found out.
func (s *serving) ended(now time.Time) dial.Ending {
	s.end.Held = now.Sub(s.conn.since)
	if s.end.Why == "" {
		s.end.Why = s.conn.reason()
	}
	return s.end
}
