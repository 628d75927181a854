package httpapi

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// members takes a body's members by name and keeps the first problem met, which names the member.
type members struct {
	object  map[string]any
	known   []string
	problem *problem
}

func (m *members) refuse(name, sentence string) {
	if m.problem == nil {
		m.problem = invalid(shortKey(name), sentence)
	}
}

func (m *members) get(name string) (any, bool) {
	m.known = append(m.known, name)
	v, ok := m.object[name]
	return v, ok
}

func (m *members) text(name string, most int) string {
	v, ok := m.get(name)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok || len(s) > most {
		m.refuse(name, fmt.Sprintf("it must be a string of at most %d bytes", most))
		return ""
	}
	return s
}

func (m *members) duration(name string, otherwise, most time.Duration) time.Duration {
	v, ok := m.get(name)
	if !ok {
		return otherwise
	}
	s, _ := v.(string)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > most {
		m.refuse(name, fmt.Sprintf("it must be a duration as a string, such as \"5s\", over 0 and at most %v", most))
		return otherwise
	}
	return d
}

func (m *members) nested(name string) map[string]any {
	v, ok := m.get(name)
	if !ok {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		m.refuse(name, "it must be an object")
	}
	return object
}

// nothingElse refuses what nobody asked for; a key in another case is another key.
func (m *members) nothingElse() {
	for _, name := range slices.Sorted(maps.Keys(m.object)) {
		if !slices.Contains(m.known, name) {
			m.refuse(name, "there is no such member")
		}
	}
}
