package wire

import (
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	iopv1 "iop/proto/iop/v1"
)

// A frame of empty sub-messages grows more than 100-fold when it is decoded, so that 1 MiB on the wire would be
// 100 MiB in memory. An honest snapshot grows 6-fold. What a frame would unfold to is therefore estimated from its
// tags alone, and one beyond maxUnfoldedBytes, or unfoldTimes its length where that is more, is refused undecoded.
const (
	maxUnfoldedBytes = 16 << 20
	unfoldTimes      = 16
	// unfoldAtMost is over the growth of the worst element (four bytes that become a message and a map), so that a
	// frame of maxUnfoldedBytes/unfoldAtMost (128 KiB) can't go beyond the limit and isn't even looked at.
	unfoldAtMost = 128

	// What the estimate takes for a string beside its bytes, for the pointer that a list has to a message, for the
	// wrapper that a oneof has around anything, for a map that isn't empty, and for each of its entries beside key
	// and value. Lists and maps have room to grow.
	stringBytes  = 24
	pointerBytes = 16
	wrapperBytes = 16
	mapBytes     = 336
	entryBytes   = 64
)

// shape is what the estimate knows of a message type.
type shape struct {
	bytes  int // of its Go struct, and of what comes with it
	entry  bool
	fields map[protowire.Number]*shape // messages, and what a oneof wraps
}

var (
	envelopeShape     = shapeOf((&iopv1.Envelope{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]*shape{})
	nodeEnvelopeShape = shapeOf((&iopv1.NodeEnvelope{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]*shape{})
)

func shapeOf(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]*shape) *shape {
	if s := seen[d.FullName()]; s != nil {
		return s
	}
	s := &shape{entry: d.IsMapEntry(), fields: map[protowire.Number]*shape{}}
	seen[d.FullName()] = s
	if s.entry {
		s.bytes = entryBytes
	} else {
		s.bytes = structBytes(d)
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if child := fieldShape(f, s, seen); child != nil {
			s.fields[protowire.Number(f.Number())] = child
		}
	}
	return s
}

// fieldShape is nil for a field that takes nothing beside its place in the struct, and for strings.
func fieldShape(f protoreflect.FieldDescriptor, in *shape, seen map[protoreflect.FullName]*shape) *shape {
	if f.Message() == nil {
		if f.ContainingOneof() != nil && f.Kind() != protoreflect.StringKind && f.Kind() != protoreflect.BytesKind {
			return &shape{bytes: wrapperBytes}
		}
		return nil
	}
	child := shapeOf(f.Message(), seen)
	switch {
	case in.entry: // a value is made even where the entry has none
		in.bytes += child.bytes
		return &shape{fields: child.fields}
	case f.ContainingOneof() != nil:
		return &shape{bytes: child.bytes + wrapperBytes, fields: child.fields}
	case f.IsList():
		return &shape{bytes: child.bytes + pointerBytes, fields: child.fields}
	default:
		return child
	}
}

// structBytes is what the allocator takes for a message's Go struct.
func structBytes(d protoreflect.MessageDescriptor) int {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic("wire: " + string(d.FullName()) + " is not linked in") // the descriptor came from generated code
	}
	return (int(reflect.TypeOf(t.Zero().Interface()).Elem().Size()) + 15) &^ 15
}

func unfoldsTooFar(frame []byte, s *shape) bool {
	if len(frame) <= maxUnfoldedBytes/unfoldAtMost {
		return false
	}
	most := max(maxUnfoldedBytes, unfoldTimes*len(frame))
	return unfolded(frame, s, maxDepth, most) > most
}

// unfolded estimates the memory of a decoded message, and stops beyond most. What isn't well formed is left to the decoder to refuse, and
// what nests too deep, too: both count depth alike.
func unfolded(b []byte, s *shape, depth, most int) int {
	sum := s.bytes
	var maps protowire.Number // the field whose map has been counted: no message here has two
	for len(b) > 0 && depth > 0 && sum <= most {
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
			if child := s.fields[num]; child != nil {
				sum += child.bytes
			}
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return sum
		}
		b = b[n:]
		child := s.fields[num]
		if child == nil {
			sum += stringBytes + len(v)
			continue
		}
		if child.entry && maps != num {
			maps = num
			sum += mapBytes
		}
		sum += unfolded(v, child, depth-1, most)
	}
	return sum
}
