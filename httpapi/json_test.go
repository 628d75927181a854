package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028\ufffd", "\xff\xc3(\xed\xa0\x80", "<script>&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := appendString(nil, s)
		var back string
		if !utf8.Valid(b) || json.Unmarshal(b, &back) != nil {
			t.Fatalf("%q is not a JSON string", b)
		}
		if want := strings.ToValidUTF8(s, "\xff"); !utf8.ValidString(s) {
			want = string([]rune(s)) // each bad byte becomes U+FFFD
			if back != want {
				t.Fatalf("%q came back as %q", s, back)
			}
		} else if back != want {
			t.Fatalf("%q came back as %q", s, back)
		}
		if strings.ContainsAny(string(b), "\n\r") {
			t.Fatalf("%q breaks a line", b)
		}
	})
}

func TestAppendTime(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Time{}, "null"},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), `"2026-01-02T03:04:05.000000000Z"`},
		{time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 3600)), `"2026-01-02T02:04:05.123456789Z"`},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "null"},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "null"},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)), "null"},
		{time.Unix(0, 0), `"1970-01-01T00:00:00.000000000Z"`},
	} {
		if got := string(appendTime(nil, c.at)); got != c.want {
			t.Errorf("%v: %s, want %s", c.at, got, c.want)
		}
	}
}

// What is borrowed is empty, and what grew large is not kept.
func TestBuffers(t *testing.T) {
	b := borrow()
	*b = append(*b, make([]byte, 2*pooledBytes)...)
	giveBack(b)
	for range 100 {
		if b := borrow(); len(*b) != 0 || cap(*b) > pooledBytes {
			t.Fatalf("borrowed %d of %d bytes", len(*b), cap(*b))
		}
	}
}
