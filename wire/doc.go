// Package wire is the IOP Wire Protocol as bytes: frames, envelopes, limits, faults, and the links
// that carry them over TCP and WebSocket. It knows no actor and no HTTP route; docs/protocol.md tells
// the story of a connection.
//
// A frame is a 4-byte big-endian length N and N bytes of one Envelope. Its length is checked before
// anything is allocated for it, and what it would unfold to in memory before it is decoded.
//
// A Link never blocks its caller: what the kernel doesn't take at once waits in a queue bounded in
// frames and bytes, and a full queue is an answer (Full), not a wait.
package wire

// ProtocolVersion is the one version of the protocol that this package speaks; a hello's 0 counts as it.
const ProtocolVersion = 1
