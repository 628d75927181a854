package actors

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
)

// structJSON renders a Struct as a compact JSON object with its keys in order; nil for none. It never fails: a number
// that JSON doesn't have (NaN, an infinity) becomes null, as does a value of no kind. The library's own rendering
// refuses the whole for one such number, and a result would be lost for it.
func structJSON(s *structpb.Struct) json.RawMessage {
	if s == nil {
		return nil
	}
	var b bytes.Buffer
	writeObject(&b, s)
	return b.Bytes()
}

func writeObject(b *bytes.Buffer, s *structpb.Struct) {
	keys := slices.AppendSeq(make([]string, 0, len(s.GetFields())), maps.Keys(s.GetFields()))
	slices.Sort(keys)
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(b, k)
		b.WriteByte(':')
		writeValue(b, s.Fields[k])
	}
	b.WriteByte('}')
}

func writeValue(b *bytes.Buffer, v *structpb.Value) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		b.WriteString(strconv.FormatBool(k.BoolValue))
	case *structpb.Value_NumberValue:
		writeNumber(b, k.NumberValue)
	case *structpb.Value_StringValue:
		writeString(b, k.StringValue)
	case *structpb.Value_StructValue:
		writeObject(b, k.StructValue)
	case *structpb.Value_ListValue:
		b.WriteByte('[')
		for i, item := range k.ListValue.GetValues() {
			if i > 0 {
				b.WriteByte(',')
			}
			writeValue(b, item)
		}
		b.WriteByte(']')
	default:
		b.WriteString("null")
	}
}

func writeNumber(b *bytes.Buffer, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		b.WriteString("null")
		return
	}
	n, _ := json.Marshal(f) // fails only for those above
	b.Write(n)
}

func writeString(b *bytes.Buffer, s string) {
	q, _ := json.Marshal(s) // a string can't fail
	b.Write(q)
}
