package configs

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTextRules(t *testing.T) {
	long := strings.Repeat("a", 129)
	tests := map[string]struct{ good, bad []string }{
		"text":   {[]string{"x", "서울", "a b"}, []string{"", "a\nb", "a\tb", "\xff", strings.Repeat("x", 257)}},
		"listen": {[]string{":0", "0.0.0.0:1", "[::]:65535", "[::1]:80", "localhost:80", "cp.example:80"}, []string{"", "x", "80", ":", ":x", ":-1", ":65536", ":+1", "::1:80", "1.2.3.256:80", "0:80", "a b:80", "http://a:80", "ü:80", "-a:80"}},
		"loopback": {[]string{"127.0.0.1:0", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1", "LocalHost.:1"},
			[]string{":1", "0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost.example:1", "x.localhost:1", "cp:1"}},
		"dial": {[]string{"cp.example:19081", "10.0.0.1:1", "[fe80::1%eth0]:1"}, []string{"", ":1", "cp:0", "cp", "cp:65536"}},
		"host": {[]string{"a", "a.b", "a_b.c.", "1.2.3.4", "::1"}, []string{"", ".", "a..b", "1.2", "a:1", strings.Repeat("a.", 127)}},
		"id":   {[]string{"a", "9", "seoul-1", "a.B_c:d-e", long[:128]}, []string{"", "-a", ".a", "a b", "a/b", "a*", "ü", "a\n", long}},
		"id*":  {[]string{"a", "a*", "seoul-*", "*"}, []string{"", "**", "a**", "*a", "a*b", "-*", long + "*"}},
		"sha256": {[]string{hashA, strings.ToUpper(hashA)},
			[]string{"", hashA[1:], hashA + "a", "g" + hashA[1:], emptyHash, strings.ToUpper(emptyHash)}},
		"origin": {[]string{"https://a.example", "http://a:8080", "http://[::1]:3000", "https://a:80", "app://x"},
			[]string{"", "*", "null", "a.example", "https://", "https://a/", "https://a/b", "https://A", "HTTPS://a", "https://a:443", "http://a:80", "https://u@a", "https://a?b", "https://a#", "https://*.a", "https://a:"}},
		"url":      {[]string{"postgres://u:p@h/d", "redis://h", "unix:///x"}, []string{"", "h", "/x", "://", "postgres:"}},
		"http-url": {[]string{"http://h", "https://h:1/base", "http://127.0.0.1:8000", "http://[::1]:1/"}, []string{"", "h:80", "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h?", "http://h#x", "http://h#", "http://1.2.3"}},
	}
	for name, tt := range tests {
		for _, s := range tt.good {
			if wrong := textRules[name](s); wrong != "" {
				t.Errorf("%s refuses %q: it %s", name, s, wrong)
			}
		}
		for _, s := range tt.bad {
			if textRules[name](s) == "" {
				t.Errorf("%s takes %q", name, s)
			}
		}
	}
	for name := range textRules {
		if _, ok := tests[name]; !ok {
			t.Errorf("rule %s has no test", name)
		}
	}
}

func TestLabelLimits(t *testing.T) {
	many := map[string]string{}
	for i := range 65 {
		many[strings.Repeat("k", i+1)] = ""
	}
	tests := map[string]struct {
		labels map[string]string
		good   bool
	}{
		"none":         {nil, true},
		"empty value":  {map[string]string{"zone": ""}, true},
		"at the limit": {map[string]string{strings.Repeat("k", 256): strings.Repeat("v", 256)}, true},
		"empty key":    {map[string]string{"": "v"}, false},
		"long key":     {map[string]string{strings.Repeat("k", 257): "v"}, false},
		"long value":   {map[string]string{"k": strings.Repeat("v", 257)}, false},
		"too many":     {many, false},
	}
	for name, tt := range tests {
		if wrong := labelLimits(tt.labels); (wrong == "") != tt.good {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// Every word of every check tag is known, and every range can be read.
func TestCheckTags(t *testing.T) {
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			item := f.Type
			if item.Kind() == reflect.Slice {
				item = item.Elem()
			}
			switch {
			case f.Tag.Get("yaml") == "-":
			case item.Kind() == reflect.Struct:
				visit(item)
			default:
				broken(strings.ReplaceAll(f.Tag.Get("check"), "optional,", ""), reflect.Zero(item))
			}
		}
	}
	visit(reflect.TypeFor[ControlPlane]())
	visit(reflect.TypeFor[Edge]())
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Millisecond: "10ms", 15 * time.Second: "15s", 30 * time.Minute: "30m",
		90 * time.Second: "1m30s", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s",
		10 * time.Hour: "10h", 10 * time.Second: "10s",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
