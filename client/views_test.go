package client

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// The views are the interface's own: what openapi.yaml has, they have, under the same name, and what may be null there may
// be nil here. It is read as a file: this package is built into programs that have no server.
func TestViewsAreWhatTheInterfaceSays(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schemas := doc.Components.Schemas
	for name, view := range map[string]any{
		"Edge": Edge{}, "EdgeList": EdgePage{}, "Status": Status{}, "Node": Node{}, "Provider": Provider{}, "Counters": Counters{},
		"Capacity": Capacity{}, "Totals": Totals{}, "FleetEdges": EdgeCounts{}, "FleetSummary": FleetSummary{}, "FleetStatus": FleetStatus{},
		"FleetModels": FleetModels{}, "Event": Event{}, "Gap": Gap{}, "EventList": EventPage{}, "Operation": Operation{},
		"OperationEvent": OperationEvent{}, "OperationList": OperationPage{},
	} {
		schema := schemas[name]
		if schema == nil {
			t.Errorf("the interface has no %s", name)
			continue
		}
		got := members(reflect.TypeOf(view))
		for member, property := range schema.Value.Properties {
			field, ok := got[member]
			if !ok {
				t.Errorf("%s has no %s", name, member)
				continue
			}
			if nullable := mayBeNull(property); nullable && !canBeNil(field) {
				t.Errorf("%s.%s may be null, and can't be nil", name, member)
			}
			delete(got, member)
		}
		for member := range got {
			t.Errorf("%s has %s, which the interface hasn't", name, member)
		}
	}
}

func mayBeNull(s *openapi3.SchemaRef) bool {
	return s.Value.Type != nil && slices.Contains(*s.Value.Type, "null")
}

func canBeNil(t reflect.Type) bool { return t.Kind() == reflect.Pointer || t.Kind() == reflect.Map }

// members are a struct's JSON members, those of embedded structs included.
func members(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for name, kind := range members(f.Type) {
				all[name] = kind
			}
		case name != "-":
			all[name] = f.Type
		}
	}
	return all
}

func TestCodesAreWhatTheInterfaceSays(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[any]bool{}
	for _, c := range []Code{InvalidRequest, Unauthenticated, PermissionDenied, NotFound, EdgeNotFound, OperationNotFound, MethodNotAllowed,
		IdempotencyConflict, PayloadTooLarge, UnsupportedMediaType, OperationUnsupported, EdgeBusy, ShuttingDown, EdgeTimeout, Internal} {
		known[string(c)] = true
	}
	for _, code := range doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		if !known[code] {
			t.Errorf("the interface has the code %v, and there is no name for it", code)
		}
		delete(known, code)
	}
	if len(known) > 0 {
		t.Errorf("the interface hasn't %v", known)
	}
}

func TestWordsAreWhatTheInterfaceSays(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		view, member string
		words        []any
	}{
		{"Status", "source", []any{Live, Cached}},
		{"Provider", "status", []any{Available, Busy, Unavailable}},
		{"Provider", "health", []any{Online, Degraded, Offline}},
		{"Gap", "reason", []any{Overwritten, Restarted}},
	} {
		var got, want []string
		for _, word := range c.words {
			got = append(got, fmt.Sprint(word))
		}
		for _, word := range doc.Components.Schemas[c.view].Value.Properties[c.member].Value.Enum {
			if word != "unspecified" { // the lack of a word
				want = append(want, fmt.Sprint(word))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s.%s is one of %v, and there are names for %v", c.view, c.member, want, got)
		}
	}
}
