package configs

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// A decoder puts one YAML file into a struct, in a walk over the file's nodes: yaml.v3's own
// decoding stops at the first repeated key, converts types silently and knows no ranges.
//
// It knows structs, lists, map[string]string, string, bool, int and time.Duration. A struct's field
// is named by its yaml tag, and its check tag has the rules of broken; on a list they hold for
// every item.
type decoder struct {
	*report
	file string
}

// A field is one key that a struct knows.
type field struct {
	name   string
	index  int
	check  string
	secret bool
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if name := tag.Get("yaml"); name != "-" {
			fields = append(fields, field{name, i, tag.Get("check"), tag.Get("secret") == "true"})
		}
	}
	return fields
}

func (d *decoder) wrong(n *yaml.Node, key, format string, args ...any) {
	d.at(place{d.file, n.Line}, key, format, args...)
}

// value decodes one node into v; f has the rules of the field that v belongs to.
func (d *decoder) value(n *yaml.Node, v reflect.Value, key string, f field) {
	if n.Kind == yaml.AliasNode {
		d.wrong(n, key, "is an alias (*%s), which is not supported; write the value out", n.Value)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if d.collection(n, yaml.MappingNode, "!!map", key, f) {
			d.structure(n, v, key)
		}
	case reflect.Map:
		if d.collection(n, yaml.MappingNode, "!!map", key, f) {
			d.stringMap(n, v, key, f)
		}
	case reflect.Slice:
		if d.collection(n, yaml.SequenceNode, "!!seq", key, f) {
			d.list(n, v, key, f)
		}
	default:
		d.scalar(n, v, key, f)
	}
}

// collection tells whether there is a mapping or list to go into. An empty section is none, and no
// problem unless it must be given: it is what stays of a section whose keys are all commented out. What
// stands there instead isn't shown, since it may be a secret that was written one level too high.
func (d *decoder) collection(n *yaml.Node, kind yaml.Kind, tag, key string, f field) bool {
	empty := n.ShortTag() == "!!null"
	if empty && !hasWord(f.check, "required") {
		return false
	}
	if empty || n.Kind != kind || n.ShortTag() != tag {
		expected := "keys below it (key: value)"
		if kind == yaml.SequenceNode {
			expected = "a list, [] for none"
		}
		d.wrong(n, key, "is %s; expected %s", describe(n, true), expected)
		return false
	}
	d.places[key] = place{d.file, n.Line}
	return true
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, key string) {
	fields := fieldsOf(v.Type())
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	seen := map[string]bool{}
	d.entries(n, key, func(name, path string, k, value *yaml.Node) {
		seen[name] = true
		for _, f := range fields {
			if f.name == name {
				d.value(value, v.Field(f.index), path, f)
				return
			}
		}
		d.wrong(k, path, "is an unknown key; expected one of %s", strings.Join(names, ", "))
	})
	for _, f := range fields {
		if !seen[f.name] && hasWord(f.check, "required") {
			d.wrong(n, join(key, f.name), "is missing; it must be given")
		}
	}
}

func (d *decoder) stringMap(n *yaml.Node, v reflect.Value, key string, f field) {
	v.SetZero()
	if len(n.Content) == 0 {
		return
	}
	m := map[string]string{}
	d.entries(n, key, func(name, path string, _, value *yaml.Node) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(value, item, path, field{secret: f.secret})
		m[name] = item.String()
	})
	v.Set(reflect.ValueOf(m))
	if text := broken(f.check, v); text != "" {
		d.wrong(n, key, "%s", text)
	}
}

// entries calls each for every key of a mapping that is plain text, the repeated ones too, so that
// what is below them is checked as well.
func (d *decoder) entries(n *yaml.Node, key string, each func(name, path string, k, value *yaml.Node)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		switch {
		case k.ShortTag() == "!!merge":
			d.wrong(k, key, "has a merge key (<<), which is not supported; write the keys out")
			continue
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str":
			d.wrong(k, key, "has a key that is %s; expected text, in quotes if need be", describe(k, false))
			continue
		}
		path := join(key, k.Value)
		if line, ok := first[k.Value]; ok {
			d.wrong(k, path, "is a repeated key, first given on line %d; expected once", line)
		} else {
			first[k.Value] = k.Line
		}
		each(k.Value, path, k, value)
	}
}

// list replaces the list of an earlier layer. An empty one is nil, so that equal configurations are equal values.
func (d *decoder) list(n *yaml.Node, v reflect.Value, key string, f field) {
	v.SetZero()
	if len(n.Content) == 0 {
		return
	}
	items := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		path := key + "[" + strconv.Itoa(i) + "]"
		if item.ShortTag() == "!!null" {
			d.wrong(item, path, "is empty; expected a value, or no item")
			continue
		}
		d.value(item, items.Index(i), path, f)
	}
	v.Set(items)
}

// scalarTags has, by the kind of Go value, the tag that a node must have and what that is called.
var scalarTags = map[reflect.Kind][2]string{
	reflect.String: {"!!str", "text, in quotes if need be"},
	reflect.Bool:   {"!!bool", "true or false"},
	reflect.Int:    {"!!int", "a whole number"},
	reflect.Int64:  {"!!str", "a duration such as 15s or 24h"}, // time.Duration
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, key string, f field) {
	want := scalarTags[v.Kind()]
	if n.Kind != yaml.ScalarNode || n.ShortTag() != want[0] {
		d.wrong(n, key, "is %s; expected %s", describe(n, f.secret), want[1])
		return
	}
	if text := setText(v, n.Value, f); text != "" {
		d.wrong(n, key, "%s", text)
		return
	}
	d.places[key] = place{d.file, n.Line}
}

// setText puts a value that is written as text, in a file, a variable or a flag, into v. It says what
// is wrong with it and what is expected, or "" and has set v.
func setText(v reflect.Value, text string, f field) string {
	parsed := reflect.New(v.Type()).Elem()
	shown := quote(text)
	if f.secret {
		shown = "the value"
	}
	switch v.Kind() {
	case reflect.String:
		if wrong := plainText(text, maxText); wrong != "" {
			return shown + " " + wrong
		}
		parsed.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return shown + " is neither true nor false; expected one of them"
		}
		parsed.SetBool(b)
	case reflect.Int:
		// Decimal digits alone: YAML would take 010 for 8.
		i, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(i) != strings.TrimPrefix(text, "+") {
			return shown + " is not a whole number in decimal digits; " + expectedRange(f.check)
		}
		parsed.SetInt(int64(i))
	case reflect.Int64:
		t, err := time.ParseDuration(text)
		if err != nil {
			return shown + " is not a duration; expected one such as 15s or 24h"
		}
		parsed.SetInt(int64(t))
	}
	if wrong := broken(f.check, parsed); wrong != "" {
		return shown + " " + wrong
	}
	v.Set(parsed)
	return ""
}

// join is the path of a key below another. A name that could blur a message is shown quoted.
func join(key, name string) string {
	if name == "" || len(name) > 64 || plainText(name, maxText) != "" {
		name = quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

// describe says what a node is, for a message that says what was expected instead.
func describe(n *yaml.Node, secret bool) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	kind := map[string]string{
		"!!null": "empty", "!!str": "text", "!!bool": "a boolean", "!!int": "a number", "!!float": "a number",
		"!!timestamp": "a date",
	}[n.ShortTag()]
	switch {
	case kind == "":
		return "of the YAML type " + quote(n.ShortTag())
	case kind == "empty" || secret:
		return kind
	}
	return kind + " (" + quote(n.Value) + ")"
}
