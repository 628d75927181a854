package httpapi

import (
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Views are appended by hand: a status round trip is the hot path of a control plane, and
// encoding/json costs it a third more. These are the pieces they are made of.

// timeLayout is RFC 3339 with a fraction that is always there, so that times sort as text.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// appendTime writes null for a time that nobody gave, or that RFC 3339 can't say.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.AppendFormat(b, timeLayout)
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, s[from:i]...)
				b = append(b, "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			b = append(b, s[from:i]...)
			b = appendEscaped(b, c)
			from = i + 1
		}
		i++
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendStringOrNull writes null for what nobody gave: on the wires an absent string is an empty one.
func appendStringOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for _, s := range list {
		b = appendElement(b, s)
	}
	return append(b, ']')
}

// appendElement writes one of an array's strings, behind its bracket or the last one.
func appendElement(b []byte, s string) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return appendString(b, s)
}

// appendLabels writes a map with its keys in order.
func appendLabels(b []byte, labels map[string]string) []byte {
	b = append(b, '{')
	var few [8]string // what most have, without an allocation
	keys := few[:0]
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b = appendLabel(b, k, labels[k])
	}
	return append(b, '}')
}

// appendLabel writes one of an object's, behind its brace or its last one.
func appendLabel(b []byte, key, value string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = appendString(b, key)
	b = append(b, ':')
	return appendString(b, value)
}

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendInt(b, d.Milliseconds(), 10)
}

// appendObjectOrNull writes JSON that is an object already.
func appendObjectOrNull(b []byte, object []byte) []byte {
	if len(object) == 0 {
		return append(b, "null"...)
	}
	return append(b, object...)
}

// bodies lends buffers to render answers in.
var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// pooledBytes is the largest buffer that is kept: a few large pages must not stay as memory.
const pooledBytes = 256 << 10

func borrow() *[]byte { return bodies.Get().(*[]byte) }

func giveBack(b *[]byte) {
	if cap(*b) <= pooledBytes {
		*b = (*b)[:0]
		bodies.Put(b)
	}
}
