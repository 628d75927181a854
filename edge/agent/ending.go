package agent

import (
	"strings"
	"time"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
	"iop/wire/backoff"
)

// ending is how a try to be connected ended, whether or not it came to a connection.
type ending struct {
	why  string        // for the log
	held time.Duration // how long the connection was of use; 0 when there was none
	// hopeless: trying again soon would change nothing (a wrong token), or would do harm (a clone).
	hopeless bool
	// after is the earliest next try that a GoAway asked for.
	after time.Duration
}

// wait gives how long to wait before the next try.
func (e ending) wait(b *backoff.Backoff) time.Duration {
	b.Held(e.held)
	wait := b.Next()
	if e.hopeless {
		wait = b.Max()
	}
	return max(wait, e.after)
}

// refused is how an Error of the Edge ends a connection.
func refused(e *iopv1.Error) ending {
	end := ending{why: "The Edge refuses (" + name(e.Code.String(), "ERROR_CODE_") + "): " + clip(e.Message)}
	switch e.Code {
	case iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED, iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED, iopv1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:
		end.hopeless = true
	}
	return end
}

// goneAway is what a GoAway means for the next try. Two clones that both came back at once would throw each other
// out at full speed, so an agent whose place was taken waits as long as it may.
func goneAway(g *iopv1.GoAway) ending {
	end := ending{why: "The Edge said goodbye (" + name(g.Reason.String(), "GO_AWAY_REASON_") + ")."}
	if g.Reason == iopv1.GoAwayReason_GO_AWAY_REASON_SUPERSEDED {
		end.why = "Another process took this node's place; is its id used twice?"
		end.hopeless = true
	}
	end.after = wire.ReconnectAfter(g)
	return end
}

func name(s, prefix string) string { return strings.ToLower(strings.TrimPrefix(s, prefix)) }

// clip makes what an Edge said fit for a log line.
func clip(s string) string {
	const most = 256
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
