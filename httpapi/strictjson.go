package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLevels bounds the nesting of a body; its own object is the first level.
const maxLevels = 64

// parseObject reads a JSON object strictly: valid UTF-8 with whole surrogate pairs, no key twice in one object, numbers that
// a double can hold, at most maxLevels, nothing behind it. Values come as encoding/json gives them. The problem
// names the key, as a.b[3]; which keys there may be is the caller's to say.
func parseObject(body []byte) (map[string]any, *problem) {
	if !utf8.Valid(body) || hasLoneSurrogate(body) {
		return nil, invalid("body", "it is not valid Unicode")
	}
	if object, ok := parsePlain(body); ok {
		return object, nil
	}
	return parseStrictly(body)
}

// parseStrictly reads a body that is valid Unicode, one token at a time.
func parseStrictly(body []byte) (map[string]any, *problem) {
	p := &strictParser{dec: json.NewDecoder(bytes.NewReader(body))}
	p.dec.UseNumber()
	v := p.value()
	if p.problem == nil {
		if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
			p.refuse("there is more behind its JSON value")
		}
	}
	object, ok := v.(map[string]any)
	if !ok {
		p.refuse("it must be a JSON object")
	}
	return object, p.problem
}

// strictParser keeps the first problem; after it nothing that is read counts.
type strictParser struct {
	dec     *json.Decoder
	at      []step // from the body to what is read now
	problem *problem
}

// step is a member's name, or an element's place where the name is nil. They are made into a key only when there is a
// problem to name: a caller must not make us write long ones for every value.
type step struct {
	name  *string
	place int
}

func (p *strictParser) refuse(sentence string) {
	if p.problem == nil {
		p.problem = invalid(p.key(), sentence)
	}
}

func (p *strictParser) key() string {
	var b strings.Builder
	for i, s := range p.at {
		switch {
		case s.name == nil:
			fmt.Fprintf(&b, "[%d]", s.place)
		case i > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.WriteString(*s.name)
		}
		if b.Len() > maxKeyShown {
			break
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return shortKey(b.String())
}

func (p *strictParser) token() json.Token {
	t, err := p.dec.Token()
	if err != nil {
		p.refuse("the JSON is not well-formed, or ends too early")
	}
	return t
}

func (p *strictParser) value() any {
	switch t := p.token().(type) {
	case json.Delim:
		if len(p.at) >= maxLevels {
			p.refuse(fmt.Sprintf("more than %d levels", maxLevels))
			return nil
		}
		if t == '{' {
			return p.object()
		}
		return p.array()
	case json.Number:
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			p.refuse("the number is beyond what a double can hold")
		}
		if f == 0 {
			return 0.0 // -0 is the same number
		}
		return f
	default:
		return t
	}
}

// inside reads a value one step further in.
func (p *strictParser) inside(s step) any {
	p.at = append(p.at, s)
	v := p.value()
	p.at = p.at[:len(p.at)-1]
	return v
}

func (p *strictParser) object() map[string]any {
	object := map[string]any{}
	for p.problem == nil && p.dec.More() {
		name, ok := p.token().(string)
		if !ok {
			break
		}
		if _, twice := object[name]; twice {
			p.at = append(p.at, step{name: &name})
			p.refuse("it is given twice")
			break
		}
		object[name] = p.inside(step{name: &name})
	}
	p.close()
	return object
}

func (p *strictParser) array() []any {
	list := []any{}
	for p.problem == nil && p.dec.More() {
		list = append(list, p.inside(step{place: len(list)}))
	}
	p.close()
	return list
}

func (p *strictParser) close() {
	if p.problem == nil {
		p.token()
	}
}

const maxKeyShown = 128

// shortKey keeps a sentence readable whatever the caller named a key.
func shortKey(key string) string {
	if len(key) <= maxKeyShown {
		return key
	}
	cut := maxKeyShown
	for !utf8.RuneStart(key[cut]) {
		cut--
	}
	return key[:cut] + "…"
}

// hasLoneSurrogate looks for half a \u pair, which encoding/json would silently replace. Outside of strings a backslash is
// no JSON, and found out later.
func hasLoneSurrogate(body []byte) bool {
	for i := bytes.IndexByte(body, '\\'); i >= 0 && i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(body[i:])
		if !ok {
			i++ // some other escape, perhaps of a backslash
			continue
		}
		i += 5
		switch {
		case 0xDC00 <= unit && unit <= 0xDFFF:
			return true
		case 0xD800 <= unit && unit <= 0xDBFF:
			low, ok := escapedUnit(body[i+1:])
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
	}
	return false
}

// escapedUnit reads a \uXXXX at the start of b.
func escapedUnit(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return unit, err == nil
}
