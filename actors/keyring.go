package actors

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"

	"iop/wire"
)

// Role is what an operator may do.
type Role string

const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // reads and commands
)

// Keyring knows which tokens are valid, by their SHA-256 only. It is never changed: a reload makes a new one.
type Keyring struct {
	Edges     []EdgeKey     // empty: Edges need no token
	Operators []OperatorKey // empty: operators and Clients need none
	// EdgeCertificates: an Edge needs a client certificate one of whose DNS names is its edge_id.
	EdgeCertificates bool
}

// EdgeKey is one token for the Edges that Pattern names: an edge_id, or a prefix and one '*' at its end.
type EdgeKey struct {
	Pattern string
	SHA256  [32]byte
}

// OperatorKey is one operator's token.
type OperatorKey struct {
	Name   string
	Role   Role
	SHA256 [32]byte
}

// Operator finds whose token this is; false when it is nobody's.
func (k *Keyring) Operator(token string) (OperatorKey, bool) {
	sum := sha256.Sum256([]byte(token))
	found, ok := OperatorKey{}, false
	for _, o := range k.Operators { // all of them, so that the time tells nothing
		if subtle.ConstantTimeCompare(sum[:], o.SHA256[:]) == 1 {
			found, ok = o, true
		}
	}
	return found, ok
}

// admitEdge checks an Edge's token and the DNS names of its certificate; nil when both are good.
func (k *Keyring) admitEdge(edgeID, token string, certNames []string) *wire.Fault {
	if k.EdgeCertificates && !slices.Contains(certNames, edgeID) {
		return &wire.Fault{Code: wire.PermissionDenied, Message: "the client certificate does not name this edge_id"}
	}
	if len(k.Edges) == 0 {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	known, named := false, false
	for _, e := range k.Edges {
		if subtle.ConstantTimeCompare(sum[:], e.SHA256[:]) == 1 {
			known = true
			named = named || matches(e.Pattern, edgeID)
		}
	}
	switch {
	case !known:
		return &wire.Fault{Code: wire.Unauthenticated, Message: "token missing or wrong"}
	case !named:
		return &wire.Fault{Code: wire.PermissionDenied, Message: "the token is not good for this edge_id"}
	}
	return nil
}

func matches(pattern, edgeID string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(edgeID, prefix)
	}
	return pattern == edgeID
}
