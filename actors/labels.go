package actors

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
)

// Labels are what an Edge calls itself, by key. They are kept in one piece, because each connected Edge has some and a map
// takes several times their text: keys in order, each with its value, and each text behind its length.
type Labels string

// NewLabels packs a map.
func NewLabels(m map[string]string) Labels {
	var b []byte
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = appendText(b, k)
		b = appendText(b, m[k])
	}
	return Labels(b)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// All gives keys, in order, and values.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(k, v string) bool) {
		for rest := string(l); rest != ""; {
			var k, v string
			k, rest = cutText(rest)
			v, rest = cutText(rest)
			if !yield(k, v) {
				return
			}
		}
	}
}

// Get finds a value by its key.
func (l Labels) Get(key string) (string, bool) {
	for k, v := range l.All() {
		if k == key {
			return v, true
		}
	}
	return "", false
}

// cutText takes one text off what NewLabels made.
func cutText(s string) (text, rest string) {
	length := 0
	for i := range len(s) {
		length |= int(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			end := i + 1 + length
			return s[i+1 : end], s[end:]
		}
	}
	return "", ""
}
