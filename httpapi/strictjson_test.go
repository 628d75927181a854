package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseObject(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       string // as JSON again; empty: refused
		named      string // what the problem's sentence begins with
	}{
		{name: "plain", body: ` {"a":1,"b":[true,null,"x"],"c":{"d":-0.0}} `, want: `{"a":1,"b":[true,null,"x"],"c":{"d":0}}`},
		{name: "numbers are doubles", body: `{"a":12345678901234567890,"b":1.50}`, want: `{"a":12345678901234567000,"b":1.5}`},
		{name: "keys that differ in case", body: `{"a":1,"A":2}`, want: `{"A":2,"a":1}`},
		{name: "a whole surrogate pair", body: `{"a":"\ud83d\ude00"}`, want: `{"a":"😀"}`},
		{name: "an escaped backslash before u", body: `{"a":"\\ud83d"}`, want: `{"a":"\\ud83d"}`},
		{name: "empty", body: ``, named: "body:"},
		{name: "null", body: `null`, named: "body:"},
		{name: "array", body: `[]`, named: "body:"},
		{name: "string", body: `"a"`, named: "body:"},
		{name: "trailing object", body: `{} {}`, named: "body:"},
		{name: "trailing brace", body: `{}}`, named: "body:"},
		{name: "trailing letters", body: `{}x`, named: "body:"},
		{name: "cut", body: `{"a":1`, named: "body:"},
		{name: "cut in a value", body: `{"a":{"b":tru`, named: "a.b:"},
		{name: "comma at the end", body: `{"a":[1,]}`, named: "a"},
		{name: "comment", body: `{"a":1/*x*/}`, named: "body:"},
		{name: "single quotes", body: `{'a':1}`, named: "body:"},
		{name: "NaN", body: `{"a":NaN}`, named: "a:"},
		{name: "leading zero", body: `{"a":01}`, named: "body:"},
		{name: "byte order mark", body: "\ufeff{}", named: "body:"},
		{name: "twice", body: `{"a":1,"a":1}`, named: "a:"},
		{name: "twice, deep inside", body: `{"a":[0,{"b":{"c":1,"c":2}}]}`, named: "a[1].b.c:"},
		{name: "twice, written differently", body: `{"a":1,"\u0061":2}`, named: "a:"},
		{name: "too large a number", body: `{"a":{"b":1e999}}`, named: "a.b:"},
		{name: "invalid UTF-8", body: "{\"a\":\"\xff\"}", named: "body:"},
		{name: "half a surrogate pair", body: `{"a":"\ud83d"}`, named: "body:"},
		{name: "the other half", body: `{"a":"\ude00x"}`, named: "body:"},
		{name: "two first halves", body: `{"a":"\ud83d\ud83d\ude00"}`, named: "body:"},
		{name: "64 levels", body: nested(64), want: nested(64)},
		{name: "65 levels", body: nested(65), named: "a[0][0]"},
		{name: "a million levels", body: `{"a":` + strings.Repeat("[", 1<<20), named: "a[0][0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, p := parseObject([]byte(c.body))
			if c.want == "" {
				if p == nil || !strings.HasPrefix(p.Message, c.named) {
					t.Fatalf("problem %+v, want one that names %s", p, c.named)
				}
				return
			}
			if p != nil {
				t.Fatalf("refused: %s", p.Message)
			}
			if b := string(encodeJSON(got)); b != c.want {
				t.Fatalf("read as %s, want %s", b, c.want)
			}
		})
	}
}

// nested is a body of n levels, its own object the first.
func nested(n int) string {
	return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
}

// Naming keys must not cost more than reading them: long keys at every level, and many small values inside.
func TestLongKeysCostNothingUnlessNamed(t *testing.T) {
	key := strings.Repeat("k", 8<<10)
	body := []byte(strings.Repeat(`{"`+key+`":`, 60) + "[" + strings.Repeat("0,", 20_000) + "0]" + strings.Repeat("}", 60))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, p := parseObject(body); p != nil {
		t.Fatal(p.Message)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 { // a key made for each value would be 10 GB
		t.Errorf("%d bytes allocated for a body of %d", n, len(body))
	}
}

func TestLongKeysAreCutInSentences(t *testing.T) {
	_, p := parseObject([]byte(`{"` + strings.Repeat("é", 1000) + `":1e999}`))
	if p == nil || len(p.Message) > 300 || !strings.Contains(p.Message, "é…") {
		t.Fatalf("%+v", p)
	}
}

// FuzzParseObject holds the strict reader to encoding/json: it takes nothing that encoding/json refuses, and what it takes it
// reads the same.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,{"b":"\ud83d\ude00"}],"c":-0}`, `{"a":1,"a":2}`, `[]`, `{"a":1e999}`, nested(65), `{} {}`, "{\"\xff\":1}", `{"\\u":"\\\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, p := parseObject(body)
		if (p == nil) != (got != nil) && p == nil {
			t.Fatal("neither read nor refused")
		}
		if p != nil {
			if p.Message == "" || len(p.Message) > 300 {
				t.Fatalf("said %q", p.Message)
			}
			return
		}
		var want map[string]any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("took what encoding/json refuses: %v", err)
		}
		if !reflect.DeepEqual(got, want) && !bytes.Contains(body, []byte("-0")) {
			t.Fatalf("read %v, encoding/json %v", got, want)
		}
		again, p := parseObject(encodeJSON(got))
		if p != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("what was read doesn't survive being written: %v %+v", again, p)
		}
	})
}

// FuzzParsePlain holds the quick reader to the strict one: it takes just what that one takes, and reads the same.
func FuzzParsePlain(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,{"b":"\ud83d\ude00"}],"c":-0}`, `{"a":1,"a":2}`, `{"a":{"b":[-0.0,{"b":1,"\u0062":2}]}}`, `{":":"\":","x":[":"]}`,
		`[]`, `null`, ` {"a":null} `, `{"a":1e999}`, nested(64), nested(65), strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), `{} {}`, `{"a":1,"A":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) || hasLoneSurrogate(body) {
			return // parseObject asks neither
		}
		got, ok := parsePlain(body)
		want, p := parseStrictly(body)
		if ok != (p == nil) {
			t.Fatalf("taken: %v, strictly: %+v", ok, p)
		}
		if ok && string(encodeJSON(got)) != string(encodeJSON(want)) {
			t.Fatalf("read %v, strictly %v", got, want)
		}
	})
}
