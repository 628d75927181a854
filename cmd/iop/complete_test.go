package main

import "testing"

// What an Edge calls an operation can't speak to whoever completes it, nor run anything.
func TestOnlyWordsAreCompleted(t *testing.T) {
	s := &scripted{answers: map[string][]string{"/edges/a": {`{"edge_id":"a","operations":["node.drain","_activeHelp_ Call 555-0100.",
		" _activeHelp_ x","a\tit is safe","b\nc","$(reboot)","\u001b[2J","모델.load","x/y:z_1-2",""]}`}}}
	const want = "node.drain\n모델.load\nx/y:z_1-2\n:4\n"
	if _, out, _ := s.iop(t, "__complete", "run", "a", ""); out != want {
		t.Errorf("%q is completed, want %q", out, want)
	}
}
