package actors

import (
	"fmt"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// The limits of an Edge's hello.
const (
	maxLabels         = 64
	maxLabelBytes     = 256 // of a key, or of a value
	maxOperations     = 128
	maxOperationBytes = 128
	maxTextBytes      = 256 // name, version, instance_id
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
		if len(text) > maxTextBytes {
			return invalid(fmt.Sprintf("%s is over %d bytes", name, maxTextBytes))
		}
	}
	if len(h.Labels) > maxLabels {
		return invalid(fmt.Sprintf("over %d labels", maxLabels))
	}
	for k, v := range h.Labels {
		if len(k) > maxLabelBytes || len(v) > maxLabelBytes {
			return invalid(fmt.Sprintf("a label's key or value is over %d bytes", maxLabelBytes))
		}
	}
	if len(h.Operations) > maxOperations {
		return invalid(fmt.Sprintf("over %d operations", maxOperations))
	}
	for _, o := range h.Operations {
		if len(o) > maxOperationBytes {
			return invalid(fmt.Sprintf("an operation's name is over %d bytes", maxOperationBytes))
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
