package wire

import (
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	iopv1 "iop/proto/iop/v1"
)

// A frame of empty sub-messages grows some 70-fold when it is decoded, so that 1 MiB on the wire would
// be 70 MiB in memory. An honest snapshot grows 6-fold. What a frame would unfold to is therefore
// estimated from its tags alone, and one beyond maxUnfoldedBytes is refused undecoded.
const (
	maxUnfoldedBytes = 16 << 20
	// unfoldAtMost is over the growth of the worst element (two bytes that become a message), so that a
	// frame of maxUnfoldedBytes/unfoldAtMost (128 KiB) can't go beyond the limit and isn't even looked at.
	unfoldAtMost = 128
	// stringBytes is a string's header; mapEntryBytes what a map needs for one entry beside its key and value.
	stringBytes   = 16
	mapEntryBytes = 64
)

// shape is what the estimate knows of a message type.
type shape struct {
	bytes  int // of its Go struct, or of a map's entry
	fields map[protowire.Number]*shape
}

var envelopeShape = shapeOf((&iopv1.Envelope{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]*shape{})

func shapeOf(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]*shape) *shape {
	if s := seen[d.FullName()]; s != nil {
		return s
	}
	s := &shape{bytes: mapEntryBytes, fields: map[protowire.Number]*shape{}}
	seen[d.FullName()] = s
	if !d.IsMapEntry() {
		t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
		if err != nil {
			panic("wire: " + string(d.FullName()) + " is not linked in") // the descriptor came from generated code
		}
		s.bytes = int(reflect.TypeOf(t.Zero().Interface()).Elem().Size())
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if f.Message() == nil {
			continue
		}
		child := shapeOf(f.Message(), seen)
		if f.ContainingOneof() != nil || f.IsList() { // the oneof's wrapper, the list's pointer
			child = &shape{bytes: child.bytes + stringBytes, fields: child.fields}
		}
		s.fields[protowire.Number(f.Number())] = child
	}
	return s
}

func unfoldsTooFar(frame []byte) bool {
	if len(frame) <= maxUnfoldedBytes/unfoldAtMost {
		return false
	}
	return unfolded(frame, envelopeShape, maxDepth) > maxUnfoldedBytes
}

// unfolded estimates the memory of a decoded message. What isn't well formed is left to the decoder to
// refuse, and what nests too deep, too.
func unfolded(b []byte, s *shape, depth int) int {
	sum := s.bytes
	for len(b) > 0 && depth > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return sum
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return sum
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return sum
		}
		b = b[n:]
		if child := s.fields[num]; child != nil {
			sum += unfolded(v, child, depth-1)
		} else {
			sum += stringBytes + len(v)
		}
		if sum > maxUnfoldedBytes {
			return sum
		}
	}
	return sum
}
