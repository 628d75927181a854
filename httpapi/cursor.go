package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"iop/wire"
)

// A cursor is opaque to callers: base64url of one byte that tells what it pages through, then where it is, and a checksum: one that was cut
// or lengthened would else be a place, too, and a list would begin there in silence.
const (
	edgesCursor      = 'e' // + edgePlace
	operationsCursor = 'o' // + the last operation_id listed
	fleetCursor      = 'f' // + fleetPlace
)

func encodeCursor(kind byte, place []byte) string {
	b := append([]byte{kind}, place...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func decodeCursor(kind byte, cursor string) (place []byte, ok bool) {
	if !isToken(cursor) { // base64 would overlook line breaks
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < 1+crc32.Size || b[0] != kind {
		return nil, false
	}
	b, sum := b[:len(b)-crc32.Size], b[len(b)-crc32.Size:]
	return b[1:], binary.BigEndian.Uint32(sum) == crc32.ChecksumIEEE(b)
}

const notACursor = "it is no next_cursor of this list"

// edgePlace is where a list of Edges is, and how many of the whole fleet were stale: that takes a look at each, and a look at each for
// every page would make a whole list take time by the square of the number of Edges.
type edgePlace struct {
	run       uint32 // of the process: the instant below means nothing to another
	at        int64  // when they were counted; see Server.instant
	connected uint32 // then, with the stale ones
	stale     uint32
	last      string // the edge_id that the last page ended with
}

const edgePlaceBytes = 4 + 8 + 4 + 4

func (p *edgePlace) encode() string {
	b := binary.BigEndian.AppendUint32(nil, p.run)
	b = binary.BigEndian.AppendUint64(b, uint64(p.at))
	b = binary.BigEndian.AppendUint32(b, p.connected)
	b = binary.BigEndian.AppendUint32(b, p.stale)
	return encodeCursor(edgesCursor, append(b, p.last...))
}

// edgeCursor reads the place that a page begins after; nil for the first page.
func (q *query) edgeCursor() *edgePlace {
	cursor := q.one("cursor")
	if cursor == "" {
		return nil
	}
	b, ok := decodeCursor(edgesCursor, cursor)
	if !ok || len(b) < edgePlaceBytes || !wire.ValidEdgeID(string(b[edgePlaceBytes:])) {
		q.refuse("cursor", notACursor)
		return nil
	}
	return &edgePlace{
		run:       binary.BigEndian.Uint32(b),
		at:        int64(binary.BigEndian.Uint64(b[4:])),
		connected: binary.BigEndian.Uint32(b[12:]),
		stale:     binary.BigEndian.Uint32(b[16:]),
		last:      string(b[edgePlaceBytes:]),
	}
}

// operationCursor is the operation_id that the last page ended with; empty for the first page.
func (q *query) operationCursor() string {
	cursor := q.one("cursor")
	if cursor == "" {
		return ""
	}
	place, ok := decodeCursor(operationsCursor, cursor)
	if !ok || !isToken(string(place)) {
		q.refuse("cursor", notACursor)
		return ""
	}
	return string(place)
}

// fleetPlace is where a list of statuses is, and what its first page decided for all of them.
type fleetPlace struct {
	run    uint32 // of the process: the instant below means nothing to another
	gather uint32 // what the Edges that gave no snapshot were asked under
	since  int64  // snapshots received at or after this are acceptable; see Server.instant
	last   string // the edge_id that the last page ended with
}

const fleetPlaceBytes = 4 + 4 + 8

func (p fleetPlace) encode() string {
	b := binary.BigEndian.AppendUint32(nil, p.run)
	b = binary.BigEndian.AppendUint32(b, p.gather)
	b = binary.BigEndian.AppendUint64(b, uint64(p.since))
	return encodeCursor(fleetCursor, append(b, p.last...))
}

// fleetCursor reads the place that a page begins after; nil for the first page.
func (q *query) fleetCursor(run uint32) *fleetPlace {
	cursor := q.one("cursor")
	if cursor == "" {
		return nil
	}
	b, ok := decodeCursor(fleetCursor, cursor)
	if !ok || len(b) < fleetPlaceBytes || !wire.ValidEdgeID(string(b[fleetPlaceBytes:])) {
		q.refuse("cursor", notACursor)
		return nil
	}
	p := &fleetPlace{
		run:    binary.BigEndian.Uint32(b),
		gather: binary.BigEndian.Uint32(b[4:]),
		since:  int64(binary.BigEndian.Uint64(b[8:])),
		last:   string(b[fleetPlaceBytes:]),
	}
	if p.run != run {
		q.refuse("cursor", "it is of an earlier run of the Control Plane; begin again without it")
		return nil
	}
	return p
}
