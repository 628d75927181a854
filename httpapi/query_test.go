package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func queryOf(raw string) *query {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL.RawQuery = raw
	return (&call{r: r}).query()
}

func TestQuery(t *testing.T) {
	limit := func(q *query) any { return q.limit() }
	timeout := func(q *query) any { return q.timeout() }
	maxAge := func(q *query) any { d, given := q.maxAge(); return [2]any{d, given} }
	state := func(q *query) any { return q.oneOf("state", "a", "b") }
	pairs := func(q *query) any { return q.labels() }
	for _, c := range []struct {
		raw   string
		read  func(*query) any
		want  any
		named string // what the problem names; empty: none
	}{
		{"", limit, 100, ""},
		{"limit=", limit, 100, ""},
		{"limit=1", limit, 1, ""},
		{"limit=1000", limit, 1000, ""},
		{"limit=&limit=7", limit, 7, ""},
		{"nonsense=1&nonsense=2", limit, 100, ""},
		{"limit=0", limit, 100, "limit"},
		{"limit=1001", limit, 100, "limit"},
		{"limit=-1", limit, 100, "limit"},
		{"limit=%2B5", limit, 100, "limit"},
		{"limit=1e2", limit, 100, "limit"},
		{"limit=99999999999999999999", limit, 100, "limit"},
		{"limit=5&limit=5", limit, 100, "limit"},
		{"limit=%zz", limit, 100, "query"},
		{"a;b", limit, 100, "query"},
		{"", timeout, 2 * time.Second, ""},
		{"timeout=300ms", timeout, 300 * time.Millisecond, ""},
		{"timeout=30s", timeout, 30 * time.Second, ""},
		{"timeout=30.1s", timeout, 2 * time.Second, "timeout"},
		{"timeout=0", timeout, 2 * time.Second, "timeout"},
		{"timeout=-1s", timeout, 2 * time.Second, "timeout"},
		{"timeout=5", timeout, 2 * time.Second, "timeout"},
		{"timeout=abc", timeout, 2 * time.Second, "timeout"},
		{"timeout=1s&timeout=2s", timeout, 2 * time.Second, "timeout"},
		{"", maxAge, [2]any{time.Duration(0), false}, ""},
		{"max_age=0", maxAge, [2]any{time.Duration(0), true}, ""},
		{"max_age=1000h", maxAge, [2]any{1000 * time.Hour, true}, ""},
		{"max_age=x", maxAge, [2]any{time.Duration(0), false}, "max_age"},
		{"max_age=-1ns", maxAge, [2]any{time.Duration(0), false}, "max_age"},
		{"", state, "", ""},
		{"state=b", state, "b", ""},
		{"state=B", state, "", "state"},
		{"label=a%3D1&label=b%3D%3D2&label=", pairs, labels{{"a", "1"}, {"b", "=2"}}, ""},
		{"label=a=", pairs, labels{{"a", ""}}, ""},
		{"label=a", pairs, labels(nil), "label"},
		{"label==1", pairs, labels(nil), "label"},
	} {
		q := queryOf(c.raw)
		if got := c.read(q); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: read %v, want %v", c.raw, got, c.want)
		}
		switch {
		case c.named == "" && q.problem != nil:
			t.Errorf("%q: refused: %s", c.raw, q.problem.Message)
		case c.named != "" && (q.problem == nil || !strings.HasPrefix(q.problem.Message, c.named+":")):
			t.Errorf("%q: problem %+v, want one that names %s", c.raw, q.problem, c.named)
		}
	}
}

func TestCursors(t *testing.T) {
	place := fleetPlace{run: 7, gather: 9, since: -5, last: "seoul:1"}
	if q := queryOf("cursor=" + place.encode()); !reflect.DeepEqual(q.fleetCursor(7), &place) || q.problem != nil {
		t.Error("a fleet cursor doesn't come back as it was made")
	}
	if q := queryOf("cursor=" + place.encode()); q.fleetCursor(8) != nil || q.problem == nil {
		t.Error("a cursor of another run was taken")
	}
	list := &edgePlace{run: 1 << 31, at: -5, connected: 3, stale: 1 << 31, last: "a"}
	edges, operations := list.encode(), encodeCursor(operationsCursor, []byte("01ARZ"))
	if q := queryOf("cursor=" + edges); !reflect.DeepEqual(q.edgeCursor(), list) || q.problem != nil {
		t.Error("a cursor of Edges doesn't come back")
	}
	if q := queryOf("cursor=" + operations); q.operationCursor() != "01ARZ" || q.problem != nil {
		t.Error("a cursor of operations doesn't come back")
	}
	for _, cursor := range []string{"!!", "a", "%00", edges + "=", edges + "%0A", operations, (&edgePlace{last: "a/b"}).encode(),
		(&edgePlace{}).encode(), encodeCursor(edgesCursor, []byte("a")),
		base64.RawURLEncoding.EncodeToString([]byte("eedge-of-an-earlier-release")), place.encode()} {
		if q := queryOf("cursor=" + cursor); q.edgeCursor() != nil || q.problem == nil {
			t.Errorf("%q was taken as a cursor of Edges", cursor)
		}
	}
	for _, cursor := range []string{edges, place.encode()[:8], encodeCursor(fleetCursor, make([]byte, 16))} {
		if q := queryOf("cursor=" + cursor); q.fleetCursor(0) != nil || q.problem == nil {
			t.Errorf("%q was taken as a cursor of a fleet", cursor)
		}
	}
	for n := range 40 { // whatever the length, what isn't whole is no place
		whole := (&edgePlace{last: strings.Repeat("a", 1+n)}).encode()
		for _, cursor := range []string{whole + "x", whole + "xx", whole[1:], whole[:len(whole)-1], "A" + whole[1:], whole[:len(whole)-6] + "AAAAAA"} {
			if q := queryOf("cursor=" + cursor); q.edgeCursor() != nil || q.problem == nil {
				t.Errorf("%q was taken, of %q", cursor, whole)
			}
		}
	}
	for _, c := range []string{place.encode(), edges, operations} {
		if !isToken(c) {
			t.Errorf("cursor %q holds more than A-Z a-z 0-9 . _ -", c)
		}
	}
}
