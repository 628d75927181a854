package edge

import (
	"strings"

	"google.golang.org/protobuf/proto"

	iopv1 "iop/proto/iop/v1"
)

// Bounds of the outcomes that are kept: the oldest go first. A Control Plane asks about a command again within seconds of
// a new connection, so that this is hours of an ordinary site's memory.
const (
	maxOutcomes     = 1024
	maxOutcomeBytes = 4 << 20
)

// outcomes remembers what became of commands, so that none runs twice and every question is answered as before. What
// still runs is never forgotten; its number is bounded by whoever starts it. Its owner guards it.
type outcomes struct {
	maxCount, maxBytes int

	running map[string]*run
	settled map[string]*iopv1.EdgeCommandResponse
	order   []string // of settled, oldest first
	bytes   int
}

func newOutcomes(maxCount, maxBytes int) *outcomes {
	return &outcomes{
		maxCount: maxCount, maxBytes: maxBytes,
		running: map[string]*run{}, settled: map[string]*iopv1.EdgeCommandResponse{},
	}
}

// begin notes a command that starts to run.
func (o *outcomes) begin(id string, r *run) { o.running[id] = r }

// settle notes how a command ended, or that it was refused. The first outcome stays.
func (o *outcomes) settle(response *iopv1.EdgeCommandResponse) {
	id := response.CommandId
	delete(o.running, id)
	if o.settled[id] != nil {
		return
	}
	if proto.Size(response) > o.maxBytes {
		response = withoutResult(response)
	}
	o.settled[id] = response
	o.order = append(o.order, id)
	o.bytes += proto.Size(response)
	for len(o.order) > o.maxCount || o.bytes > o.maxBytes && len(o.order) > 1 {
		oldest := o.order[0]
		o.order = o.order[1:]
		o.bytes -= proto.Size(o.settled[oldest])
		delete(o.settled, oldest)
	}
}

// withoutResult is the outcome without its result, for which there is no room.
func withoutResult(r *iopv1.EdgeCommandResponse) *iopv1.EdgeCommandResponse {
	return &iopv1.EdgeCommandResponse{CommandId: r.CommandId, Outcome: r.Outcome, Message: withNote(r.Message)}
}

func withNote(message string) string {
	return strings.TrimSpace(message + " (The result was too large to be sent.)")
}
