package dial

import (
	"fmt"
	"time"

	"iop/edge/internal/text"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// HelloID is the id of a hello.
const HelloID = 1

// mostSaid bounds what a peer's sentence takes of a log line.
const mostSaid = 1024

// Peer is who was dialled, and by whom, in the words of the log.
type Peer struct {
	Name string // "The Control Plane"
	Self string // "this Edge": who has the id that the hello names
}

// Answer is the first message of a peer, whatever its wire.
type Answer interface {
	GetReplyTo() uint64
	GetError() *iopv1.Error
	GetGoAway() *iopv1.GoAway
}

// Judge tells what the first message of a peer means; nil when it is a welcome. welcomes tells whether it could be one, and version is
// its protocol_version.
func (p Peer) Judge(answer Answer, welcomes bool, version uint32, now time.Time) *Ending {
	switch {
	case answer.GetError() != nil:
		return p.Refused(answer.GetError())
	case answer.GetGoAway() != nil:
		return p.GoneAway(answer.GetGoAway(), now)
	case !welcomes:
		return &Ending{Why: p.Name + "'s first message was no answer to the hello."}
	case answer.GetReplyTo() != HelloID:
		return &Ending{Why: "The answer to the hello is for another one."}
	case version > wire.ProtocolVersion:
		why := fmt.Sprintf("%s speaks version %d of the protocol, not %d.", p.Name, version, wire.ProtocolVersion)
		return &Ending{Why: why, Hopeless: true}
	}
	return nil
}

// Refused is how an Error that answers nothing but a hello ends a connection.
func (p Peer) Refused(e *iopv1.Error) *Ending {
	end := &Ending{Why: fmt.Sprintf("%s refuses (%s): %s", p.Name, text.Name(e.Code, "ERROR_CODE_"), text.Clip(e.Message, mostSaid))}
	switch e.Code {
	case iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED, iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED, iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:
		end.Hopeless = true
	}
	return end
}

// GoneAway is what a GoAway means for the next try. Whoever's place was taken comes back as after any loss, with waits that grow: two
// clones that waited as long as they may would replace each other for ever, and too seldom for a Control Plane to see a
// conflict in it, which takes five within a minute.
func (p Peer) GoneAway(g *iopv1.GoAway, now time.Time) *Ending {
	end := &Ending{Why: fmt.Sprintf("%s said goodbye (%s): %s", p.Name, text.Name(g.Reason, "GO_AWAY_REASON_"), text.Clip(g.Message, mostSaid))}
	switch g.Reason {
	case iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED:
		end.Why = fmt.Sprintf("Another process with the id of %s took its place; is the id used twice?", p.Self)
	case iopv1.GoAwayReason_GO_AWAY_REASON_REMOVED:
		end.Hopeless = true
	}
	if after := wire.ReconnectAfter(g); after > 0 {
		end.NotBefore = now.Add(after)
	}
	return end
}
