package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing that is wrong with a configuration.
type Problem struct {
	Source string // the file, the variable (IOP_LOG_LEVEL), the flag (--log-level) or "built-in default"
	Line   int    // in the file, from 1; 0 when the source has no lines
	Key    string // such as auth.operators[0].role; empty when it is the source as a whole
	Text   string // what is wrong and what is expected; may be several lines
}

// String is `source:line: key: text`, without the parts that are empty.
func (p Problem) String() string {
	where := p.Source
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.Source, p.Line)
	}
	if p.Key != "" {
		where += ": " + p.Key
	}
	return where + ": " + p.Text
}

// Problems is everything that is wrong, as one error: those of the file first, by line.
type Problems []Problem

// Error has one problem a line, or several lines where a problem's text has them.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// touch tells whether a problem is about one of the keys, about something below it or above it.
func (ps Problems) touch(keys ...string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return within(p.Key, key) || within(key, p.Key)
		})
	})
}

// within tells whether key is parent, or stands somewhere below it.
func within(key, parent string) bool {
	rest, ok := strings.CutPrefix(key, parent)
	return ok && (parent == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

const builtIn = "built-in default"

// A place is where the value in force of a key comes from.
type place struct {
	source string
	line   int
}

// A report collects problems, and remembers where each key's value comes from, so that a check made
// after all layers are merged still names file and line.
type report struct {
	problems Problems
	places   map[string]place
}

func newReport() *report { return &report{places: map[string]place{}} }

// at adds a problem at a place that isn't that of a merged key.
func (r *report) at(p place, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{p.source, p.line, key, fmt.Sprintf(format, args...)})
}

// on adds a problem with the value of a key, wherever that value comes from.
func (r *report) on(key, format string, args ...any) {
	p, ok := r.places[key]
	if !ok {
		p = place{source: builtIn}
	}
	r.at(p, key, format, args...)
}

// once reports a value that an earlier key, noted in first, has too. The empty value isn't one: that it
// is missing is told already.
func (r *report) once(first map[string]string, value, key string) {
	if value == "" {
		return
	}
	if earlier, ok := first[value]; ok {
		r.on(key, "is the same as %s; expected another", earlier)
		return
	}
	first[value] = key
}

// err is nil, or all problems in the order in which a reader of the file meets them.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if (a.Line > 0) != (b.Line > 0) {
			return cmp.Compare(b.Line, a.Line) // those with a line first
		}
		return cmp.Compare(a.Line, b.Line)
	})
	return r.problems
}
