package wire

import (
	"crypto/rand"
	"encoding/binary"
	"math"
)

// What this side says over WebSocket is whole, uncompressed frames.
const (
	opBinary = 0x2
	opClose  = 0x8
	opPong   = 0xA

	finalBit = 0x80
	maskBit  = 0x80

	// webSocketHeaderBytes is room for the longest header: 2 bytes, a length of 8, a mask of 4.
	webSocketHeaderBytes = 14
)

// webSocketFrame makes a frame of b, whose payload follows webSocketHeaderBytes of room. The frame is a part of b, and
// a Client's payload is masked in place, as RFC 6455 wants it.
func webSocketFrame(b []byte, opcode byte, mask bool) []byte {
	payload := b[webSocketHeaderBytes:]
	var room [webSocketHeaderBytes]byte
	header := append(room[:0], finalBit|opcode)
	switch n := len(payload); {
	case n <= 125:
		header = append(header, byte(n))
	case n <= math.MaxUint16:
		header = binary.BigEndian.AppendUint16(append(header, 126), uint16(n))
	default:
		header = binary.BigEndian.AppendUint64(append(header, 127), uint64(n))
	}
	if mask {
		header[1] |= maskBit
		var key [4]byte
		_, _ = rand.Read(key[:]) // never fails
		for i := range payload {
			payload[i] ^= key[i&3]
		}
		header = append(header, key[:]...)
	}
	frame := b[webSocketHeaderBytes-len(header):]
	copy(frame, header)
	return frame
}
