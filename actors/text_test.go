package actors

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
)

func TestClip(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short":      {"abc", "abc"},
		"exact":      {strings.Repeat("a", 100), strings.Repeat("a", 100)},
		"one over":   {strings.Repeat("a", 101), strings.Repeat("a", 60) + "… (41 bytes more)"},
		"characters": {strings.Repeat("한", 40), strings.Repeat("한", 20) + "… (60 bytes more)"},
		"a border":   {"a" + strings.Repeat("한", 40), "a" + strings.Repeat("한", 19) + "… (63 bytes more)"},
		"not UTF-8":  {strings.Repeat("\x80", 200), "… (200 bytes more)"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clip(c.in, 100)
			wantEqual(t, "clipped", got, c.want)
			wantEqual(t, "clipped again", clip(got, 100), got)
		})
	}
	if got := clip(strings.Repeat("한", 1<<20), maxMessageBytes); len(got) > maxMessageBytes || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestStructJSON(t *testing.T) {
	list := structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewBoolValue(true), structpb.NewNullValue(), {}}})
	for name, c := range map[string]struct {
		in   *structpb.Struct
		want string
	}{
		"none":  {nil, ""},
		"empty": {&structpb.Struct{}, `{}`},
		"keys in order": {&structpb.Struct{Fields: map[string]*structpb.Value{"b": structpb.NewNumberValue(1), "a": structpb.NewStringValue("x"), "c": list}},
			`{"a":"x","b":1,"c":[true,null,null]}`},
		"numbers JSON has not": {&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(math.NaN()),
			"b": structpb.NewNumberValue(math.Inf(-1)), "c": structpb.NewNumberValue(1e300), "d": structpb.NewNumberValue(-0.5)}},
			`{"a":null,"b":null,"c":1e+300,"d":-0.5}`},
		"a value of nothing": {&structpb.Struct{Fields: map[string]*structpb.Value{"a": nil, "\"\n": structpb.NewStructValue(nil)}},
			`{"\"\n":{},"a":null}`},
		"an empty list": {&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewListValue(nil)}}, `{"a":[]}`},
	} {
		t.Run(name, func(t *testing.T) { wantEqual(t, "JSON", string(structJSON(c.in)), c.want) })
	}
}
