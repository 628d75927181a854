package actors

import (
	"fmt"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// checkHello judges the form of an Edge's hello; nil when it is good.
func checkHello(h *iopv1.EdgeHelloRequest) *wire.Fault {
	if !wire.ValidEdgeID(h.EdgeId) {
		return wire.Invalid("edge_id must be " + wire.EdgeIDRule)
	}
	if f := wire.CheckVersion(h.ProtocolVersion); f != nil {
		return f
	}
	if over := wire.HelloOver(map[string]string{"name": h.Name, "version": h.Version, "instance_id": h.InstanceId}, h.Labels); over != nil {
		return wire.Invalid(over[0])
	}
	if len(h.Operations) > wire.MaxOperations {
		return wire.Invalid(fmt.Sprintf("over %d operations", wire.MaxOperations))
	}
	for _, o := range h.Operations {
		if len(o) > wire.MaxOperationBytes {
			return wire.Invalid(fmt.Sprintf("an operation's name is over %d bytes", wire.MaxOperationBytes))
		}
	}
	return nil
}
