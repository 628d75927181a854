package wire

import (
	"fmt"
	"slices"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// Limits of a hello, an Edge's, a Client's or a Node agent's.
const (
	MaxLabels         = 64
	MaxTextBytes      = 256 // of a name, a version, an instance_id, a client_id, a label's key or value
	MaxOperations     = 128
	MaxOperationBytes = 128 // of one's name
)

// CheckVersion refuses a protocol version that isn't spoken here; 0 counts as 1.
func CheckVersion(v uint32) *Fault {
	if v == 0 || v == ProtocolVersion {
		return nil
	}
	return &Fault{Code: FailedPrecondition, Message: fmt.Sprintf("protocol version %d is not supported; supported: %d", v, ProtocolVersion)}
}

// HelloOver lists, sorted, which texts (by the given names) and labels are over the limits; nil when none is. A peer that
// sends such a hello would be refused for ever.
func HelloOver(texts, labels map[string]string) (over []string) {
	for name, s := range texts {
		if len(s) > MaxTextBytes {
			over = append(over, fmt.Sprintf("%s is over %d bytes", name, MaxTextBytes))
		}
	}
	if len(labels) > MaxLabels {
		over = append(over, fmt.Sprintf("%d labels are over %d", len(labels), MaxLabels))
	}
	for k, v := range labels {
		if len(k) > MaxTextBytes || len(v) > MaxTextBytes {
			over = append(over, fmt.Sprintf("label %.40q: key or value is over %d bytes", k, MaxTextBytes))
		}
	}
	slices.Sort(over)
	return over
}

// MaxNodeProviders is how many providers a Node agent may report.
const MaxNodeProviders = 64

// Whoever dials is told how to behave by a peer that may be mistaken. What would overload both sides, or keep away the one that obeys, is
// limited.
const (
	// MostFrameBytes bounds what may be announced as max_frame_bytes.
	MostFrameBytes = 64 << 20
	// ShortestHeartbeat and LongestHeartbeat bound the interval of heartbeats.
	ShortestHeartbeat = 10 * time.Millisecond
	LongestHeartbeat  = 5 * time.Minute
	// MostReconnectAfter bounds what a GoAway may ask for.
	MostReconnectAfter = time.Hour
)

// The intervals of heartbeats unless settings say otherwise.
const (
	DefaultHeartbeat     = 15 * time.Second // on the Edge wire and the Client wire
	DefaultNodeHeartbeat = 5 * time.Second
)

// FrameLimit is the max_frame_bytes in force after this announcement; 0: nothing was announced.
func FrameLimit(announced uint32) int {
	if announced == 0 {
		return DefaultMaxFrameBytes
	}
	return int(min(announced, MostFrameBytes))
}

// Heartbeat is the interval in force after a peer has told one. If it isn't set or makes no sense, it is the default.
func Heartbeat(told, byDefault time.Duration) time.Duration {
	if told <= 0 {
		return byDefault
	}
	return min(max(told, ShortestHeartbeat), LongestHeartbeat)
}

// SilentAfter is how long nothing may be heard of a peer before its connection is ended: 2.5 intervals of its heartbeats.
func SilentAfter(interval time.Duration) time.Duration { return interval * 5 / 2 }

// ReconnectAfter is how long a GoAway asks to stay away; 0 when it doesn't.
func ReconnectAfter(g *iopv1.GoAway) time.Duration {
	if !g.ReconnectAfter.IsValid() {
		return 0
	}
	return min(max(g.ReconnectAfter.AsDuration(), 0), MostReconnectAfter)
}
