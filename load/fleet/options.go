package fleet

import (
	"time"

	"iop/load/ledger"
)

// Options say how large a Fleet is and how its Edges are.
type Options struct {
	Address string // of the Edge wire, host:port
	Token   string // for the hello; empty: none

	Count    int    // Edges
	IDPrefix string // an edge_id is this and the Edge's number

	ConnectRate       int           // connections begun a second, the first ones and those after a loss; 0: as fast as it goes
	Nodes             int           // an Edge
	Providers         int           // a node
	PushInterval      time.Duration // how often an Edge's snapshot changes; 0: never
	Reconnect         time.Duration // the longest wait before the first try; it doubles with each failure, up to ReconnectMax
	ReconnectMax      time.Duration
	CommandPhaseDelay time.Duration // between the phases of a command that goes on after its first answer

	Ledger *ledger.Ledger // with as many Edges and the same prefix
}

// Operations that a simulated Edge knows. Both take {"nonce": text} and give it back with the edge_id.
const (
	OperationQuick  = "load.quick"  // succeeds with its first answer
	OperationPhased = "load.phased" // accepted; started, progress and succeeded follow
	NonceKey        = "nonce"
	EdgeKey         = "edge_id"
	StampLabel      = "load.answer" // of the first node in a status answer
)
