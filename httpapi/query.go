package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"iop/actors"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// query reads a request's parameters and keeps the first problem met, which names the parameter. An empty value counts
// as absent; a parameter that nobody asks for is ignored.
type query struct {
	values  url.Values
	problem *problem
}

func (c *call) query() *query {
	q := &query{}
	var err error
	if q.values, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		q.problem = invalid("query", "it is not well-formed")
	}
	return q
}

func (q *query) refuse(name, sentence string) {
	if q.problem == nil {
		q.problem = invalid(name, sentence)
	}
}

// given is the values of a parameter that are not empty.
func (q *query) given(name string) []string {
	var given []string
	for _, v := range q.values[name] {
		if v != "" {
			given = append(given, v)
		}
	}
	return given
}

// one is a parameter that may be given once; empty when it is absent.
func (q *query) one(name string) string {
	switch given := q.given(name); len(given) {
	case 0:
		return ""
	case 1:
		return given[0]
	default:
		q.refuse(name, "it may be given once")
		return ""
	}
}

// oneOf is a parameter with a fixed set of values.
func (q *query) oneOf(name string, allowed ...string) string {
	v := q.one(name)
	if v == "" || slices.Contains(allowed, v) {
		return v
	}
	q.refuse(name, "it must be one of "+strings.Join(allowed, ", "))
	return ""
}

func (q *query) limit() int {
	v := q.one("limit")
	if v == "" {
		return defaultLimit
	}
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil || n < 1 || n > maxLimit {
		q.refuse("limit", fmt.Sprintf("it must be a number from 1 to %d", maxLimit))
		return defaultLimit
	}
	return int(n)
}

// timeout is how long Edges are given: over 0 and at most maxStatusTimeout.
func (q *query) timeout() time.Duration {
	v := q.one("timeout")
	if v == "" {
		return defaultStatusTimeout
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 || d > maxStatusTimeout {
		q.refuse("timeout", fmt.Sprintf("it must be a duration such as 2s, over 0 and at most %v", maxStatusTimeout))
		return defaultStatusTimeout
	}
	return d
}

// maxAge is how old a snapshot may be to answer; false when it isn't given.
func (q *query) maxAge() (time.Duration, bool) {
	v := q.one("max_age")
	if v == "" {
		return 0, false
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		q.refuse("max_age", "it must be a duration such as 15s, not negative")
		return 0, false
	}
	return d, true
}

// labels are pairs that must all hold.
func (q *query) labels() labels {
	var all labels
	for _, v := range q.given("label") {
		key, value, ok := strings.Cut(v, "=")
		if !ok || key == "" {
			q.refuse("label", "it must be key=value")
			return nil
		}
		all = append(all, [2]string{key, value})
	}
	return all
}

// labels picks Edges by what they call themselves.
type labels [][2]string

func (l labels) match(v *actors.View) bool {
	for _, pair := range l {
		if got, ok := v.Labels.Get(pair[0]); !ok || got != pair[1] {
			return false
		}
	}
	return true
}
