package terminal

import "testing"

// What an Edge says must not steer the terminal of whoever looks at it.
func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		"서울 1": "서울 1", "a\x1b[2Jb": "a [2Jb", "a\r\nb\tc": "a  b c", "\u009b31m": " 31m", "a\u202eb": "a b", "\xff": " ", "x\x7f": "x ", "l\u2028m": "l m",
	} {
		if got := Clean(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "a\x1b\n\nb\r\n": "a \n\nb \n"} {
		if got := Lines(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J")
	f.Add("\u009b\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Clean(s) {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q has %q left", s, r)
			}
		}
	})
}
