package actors

import (
	"fmt"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// checkHello judges the form of an Edge's hello; nil when it is good.
func checkHello(h *iopv1.EdgeHelloRequest) *wire.Fault {
	if !wire.ValidEdgeID(h.EdgeId) {
		return invalid("edge_id must be 1 to 128 ASCII letters, digits, '.', '_', '-' or ':', the first a letter or digit")
	}
	if f := checkVersion(h.ProtocolVersion); f != nil {
		return f
	}
	for name, text := range map[string]string{"name": h.Name, "version": h.Version, "instance_id": h.InstanceId} {
		if len(text) > wire.MaxTextBytes {
			return invalid(fmt.Sprintf("%s is over %d bytes", name, wire.MaxTextBytes))
		}
	}
	if len(h.Labels) > wire.MaxLabels {
		return invalid(fmt.Sprintf("over %d labels", wire.MaxLabels))
	}
	for k, v := range h.Labels {
		if len(k) > wire.MaxTextBytes || len(v) > wire.MaxTextBytes {
			return invalid(fmt.Sprintf("a label's key or value is over %d bytes", wire.MaxTextBytes))
		}
	}
	if len(h.Operations) > wire.MaxOperations {
		return invalid(fmt.Sprintf("over %d operations", wire.MaxOperations))
	}
	for _, o := range h.Operations {
		if len(o) > wire.MaxOperationBytes {
			return invalid(fmt.Sprintf("an operation's name is over %d bytes", wire.MaxOperationBytes))
		}
	}
	return nil
}

// checkVersion refuses a protocol version that isn't spoken here; 0 counts as 1.
func checkVersion(v uint32) *wire.Fault {
	if v == 0 || v == wire.ProtocolVersion {
		return nil
	}
	return &wire.Fault{Code: wire.FailedPrecondition,
		Message: fmt.Sprintf("protocol version %d is not supported; supported: %d", v, wire.ProtocolVersion)}
}

func invalid(sentence string) *wire.Fault {
	return &wire.Fault{Code: wire.InvalidRequest, Message: sentence}
}
