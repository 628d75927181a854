package fleet

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// read takes bytes as they come; what is no whole frame waits.
func (e *edge) read(data []byte) {
	if len(e.partial) > 0 {
		data = append(e.partial, data...)
		e.partial = nil
	}
	for e.link != nil {
		frame, rest, err := wire.CutFrame(data, wire.DefaultMaxFrameBytes)
		if err != nil {
			e.broken("a frame of a length off the limits")
			return
		}
		if frame == nil {
			break
		}
		e.frame(frame)
		data = rest
	}
	if e.link != nil && len(data) > 0 {
		e.partial = slices.Clone(data)
	}
}

func (e *edge) broken(kind string) {
	e.trouble(kind)
	e.link.Abort()
}

func (e *edge) frame(payload []byte) {
	if e.behaviour == Mute {
		return
	}
	e.heard = e.shard.f.now()
	m, err := wire.Decode(payload)
	if err != nil {
		e.broken("a frame that is no envelope")
		return
	}
	switch body := m.Body.(type) {
	case *iopv1.Envelope_EdgeHelloResponse:
		if e.state == greeting {
			e.welcome(body.EdgeHelloResponse)
		}
	case *iopv1.Envelope_Error:
		e.refused(body.Error)
	case *iopv1.Envelope_GoAway:
		e.goAway(body.GoAway)
	case *iopv1.Envelope_Ping:
		e.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{SentAt: body.Ping.SentAt}}})
	case *iopv1.Envelope_Pong:
		e.pong(body.Pong)
	case *iopv1.Envelope_EdgeStatusRequest:
		e.status(m.Id, body.EdgeStatusRequest.Timeout.AsDuration())
	case *iopv1.Envelope_EdgeCommandRequest:
		e.command(m.Id, body.EdgeCommandRequest)
	case *iopv1.Envelope_EdgeCommandQueryRequest:
		e.query(m.Id, body.EdgeCommandQueryRequest)
	default:
		if m.Id != 0 {
			e.send((&wire.Fault{Code: wire.Unimplemented, Message: "a simulated Edge doesn't know that"}).Envelope(m.Id))
		}
	}
}

// refused: the hello, or the connection as a whole. The peer closes it.
func (e *edge) refused(m *iopv1.Error) {
	e.trouble("refused: " + strings.TrimPrefix(m.Code.String(), "ERROR_CODE_"))
	e.sentAway, e.notBefore = true, e.shard.f.now()+e.shard.f.opts.ReconnectMax/2
}

// goAway: what is asked until the peer closes is still answered.
func (e *edge) goAway(m *iopv1.GoAway) {
	e.trouble("sent away: " + strings.TrimPrefix(m.Reason.String(), "GO_AWAY_REASON_"))
	e.sentAway, e.notBefore = true, e.shard.f.now()+m.ReconnectAfter.AsDuration()
}

func (e *edge) pong(m *iopv1.Pong) {
	if d := m.HeartbeatInterval.AsDuration(); d > 0 && d != e.interval {
		e.interval = max(d, time.Second)
		e.beat(e.interval)
	}
}

// timeIsUp is for a timer of this life.
func (e *edge) timeIsUp(t timer) {
	switch t.kind {
	case dialNow:
		e.queueDial()
	case helloOverdue:
		if e.state == greeting {
			e.broken("no answer to the hello")
		}
	case heartbeatDue:
		if t.at == e.beatAt {
			e.heartbeat()
		}
	case changeDue:
		e.change()
	case doThis:
		t.do()
	}
}

func (e *edge) heartbeat() {
	if e.behaviour == Mute {
		return
	}
	if e.shard.f.now()-e.heard > wire.SilentAfter(e.interval) {
		e.broken("no word from the peer for 2.5 intervals")
		return
	}
	e.send(&iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: timestamppb.Now()}}})
	e.shard.f.stats.heartbeats.Add(1)
	e.beat(e.interval)
}
