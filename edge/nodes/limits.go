package nodes

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// Limits of what an agent may say. Everything it says is kept, and goes on to the Control Plane in one frame with that of all
// other nodes.
const (
	maxLabels     = 64
	maxTextBytes  = 256 // of a name, a version, a type, a model, a label's key or value
	maxProviders  = 64
	maxModels     = 256
	maxFrameBytes = 128 << 10 // after the hello
)

// checkHello judges the form of a hello; nil when it is good.
func checkHello(h *iopv1.NodeHelloRequest) *wire.Fault {
	if !wire.ValidEdgeID(h.NodeId) {
		return invalid("node_id must be 1 to 128 ASCII letters, digits, '.', '_', '-' or ':', the first a letter or digit")
	}
	if h.ProtocolVersion > wire.ProtocolVersion {
		return &wire.Fault{Code: wire.FailedPrecondition,
			Message: fmt.Sprintf("protocol version %d is not supported; supported: %d", h.ProtocolVersion, wire.ProtocolVersion)}
	}
	if len(h.Name) > maxTextBytes || len(h.Version) > maxTextBytes || len(h.InstanceId) > maxTextBytes {
		return invalid(fmt.Sprintf("name, version or instance_id is over %d bytes", maxTextBytes))
	}
	if len(h.Labels) > maxLabels {
		return invalid(fmt.Sprintf("over %d labels", maxLabels))
	}
	for k, v := range h.Labels {
		if len(k) > maxTextBytes || len(v) > maxTextBytes {
			return invalid(fmt.Sprintf("a label's key or value is over %d bytes", maxTextBytes))
		}
	}
	return nil
}

// admit judges whether an agent may speak for a node; nil when it may. n is nil when there is no such node.
func admit(n *Node, token string) *wire.Fault {
	if n == nil {
		return &wire.Fault{Code: wire.PermissionDenied, Message: "this Edge has no such node for an agent"}
	}
	sum := sha256.Sum256([]byte(token))
	if n.TokenSHA256 != nil && subtle.ConstantTimeCompare(sum[:], n.TokenSHA256[:]) != 1 {
		return &wire.Fault{Code: wire.Unauthenticated, Message: "token missing or wrong"}
	}
	return nil
}

// checkProviders judges the form of a statement about providers; nil when it is good.
func checkProviders(providers []*iopv1.EdgeProviderSnapshot) *wire.Fault {
	if len(providers) > maxProviders {
		return invalid(fmt.Sprintf("over %d providers", maxProviders))
	}
	ids := make(map[string]bool, len(providers))
	for _, p := range providers {
		if !wire.ValidEdgeID(p.ProviderId) || ids[p.ProviderId] {
			return invalid("a provider_id is off the rule for ids, or named twice")
		}
		ids[p.ProviderId] = true
		if len(p.Type) > maxTextBytes || len(p.Models) > maxModels {
			return invalid(fmt.Sprintf("a provider's type is over %d bytes, or it has over %d models", maxTextBytes, maxModels))
		}
		for _, m := range p.Models {
			if len(m) > maxTextBytes {
				return invalid(fmt.Sprintf("a model's name is over %d bytes", maxTextBytes))
			}
		}
	}
	return nil
}

func invalid(sentence string) *wire.Fault {
	return &wire.Fault{Code: wire.InvalidRequest, Message: sentence}
}
