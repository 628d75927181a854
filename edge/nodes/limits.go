package nodes

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// Limits of what an agent may say after its hello, beside the wire's. Everything it says is kept, and goes on to the Control
// Plane in one frame with that of all other nodes. A type and a model are at most wire.MaxTextBytes, too.
const (
	maxModels     = 256
	maxFrameBytes = 128 << 10
)

// checkHello judges the form of a hello; nil when it is good.
func checkHello(h *iopv1.NodeHelloRequest) *wire.Fault {
	if !wire.ValidEdgeID(h.NodeId) {
		return wire.Invalid("node_id must be " + wire.EdgeIDRule)
	}
	if f := wire.CheckVersion(h.ProtocolVersion); f != nil {
		return f
	}
	if over := wire.HelloOver(map[string]string{"name": h.Name, "version": h.Version, "instance_id": h.InstanceId}, h.Labels); over != nil {
		return wire.Invalid(over[0])
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

// checkProviders judges the form of a statement about providers; nil when it is good. Of loads nothing is kept but those of
// its providers.
func checkProviders(providers []*iopv1.EdgeProviderSnapshot) *wire.Fault {
	if len(providers) > wire.MaxNodeProviders {
		return wire.Invalid(fmt.Sprintf("over %d providers", wire.MaxNodeProviders))
	}
	ids := make(map[string]bool, len(providers))
	for _, p := range providers {
		if !wire.ValidEdgeID(p.ProviderId) || ids[p.ProviderId] {
			return wire.Invalid("a provider_id is off the rule for ids, or named twice")
		}
		ids[p.ProviderId] = true
		if len(p.Type) > wire.MaxTextBytes || len(p.Models) > maxModels {
			return wire.Invalid(fmt.Sprintf("a provider's type is over %d bytes, or it has over %d models", wire.MaxTextBytes, maxModels))
		}
		for _, m := range p.Models {
			if len(m) > wire.MaxTextBytes {
				return wire.Invalid(fmt.Sprintf("a model's name is over %d bytes", wire.MaxTextBytes))
			}
		}
	}
	return nil
}
