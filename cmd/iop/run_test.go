package main

import (
	"strings"
	"testing"
)

// How the wait for a command goes on and ends. That it can be waited for later is said only where the command is known, and not known
// to be over.
func TestWaiting(t *testing.T) {
	const operation = "/edges/a/operations/op"
	record := func(state string) string {
		return `{"operation_id":"op","edge_id":"a","operation":"x","state":"` + state + `"}`
	}
	for name, c := range map[string]struct {
		args  string
		looks []string
		exit  int
		says  string // on stderr, in order
	}{
		"to the end":           {"run a x --wait", []string{record("running"), record("succeeded")}, exitOK, "sent|running|succeeded"},
		"to a bad end":         {"run a x --wait", []string{record("failed")}, exitFailed, "sent|failed|iop: x on a: failed"},
		"over an outage":       {"run a x --wait", []string{record("running"), "503", record("succeeded")}, exitOK, "running|iop: something in between (a proxy?) answers 503|looking again until it answers|iop: the Control Plane answers again|succeeded"},
		"until it isn't known": {"run a x --wait", []string{record("running"), ""}, exitNotNow, "running|no longer knows the command: it may have run|try: iop status a"},
		"for another server":   {"run a x --wait", []string{record("running"), "404"}, exitFailed, "running|It was running when last seen. To wait for it: iop ops get a op --wait|iop: an answer with status 404"},
		"later":                {"ops get a op --wait", []string{record("running"), record("succeeded")}, exitOK, "running|succeeded"},
		"for nothing":          {"ops get a op --wait", []string{""}, exitNotFound, "iop: a: no Edge with this id is known"},
		"where nobody answers": {"ops get a op --wait", []string{"502"}, exitNotNow, "iop: something in between (a proxy?) answers 502"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: map[string][]string{"/fleet/events": {`{"events":[],"next":"e1"}`}, "/edges/a/commands": {record("sent")}, operation: c.looks}}
			exit, _, talk := s.iop(t, strings.Fields(c.args)...)
			wantInOrder(t, talk, c.says)
			if exit != c.exit || strings.Contains(talk, "To wait for it") != strings.Contains(c.says, "To wait for it") {
				t.Errorf("exit code %d, want %d; it says\n%s", exit, c.exit, talk)
			}
		})
	}
}

// wantInOrder wants texts, between which there is a |, one behind the other.
func wantInOrder(t *testing.T, talk, texts string) {
	t.Helper()
	rest := talk
	for _, text := range strings.Split(texts, "|") {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("it says\n%s, and not %q there", talk, text)
		}
		rest = after
	}
}

// What a command's sending tells, and how it ends. An outage is told while it lasts: whoever waits knows what for.
func TestSending(t *testing.T) {
	const outage = "iop: something in between (a proxy?) answers 502: the Control Plane behind it is probably down (http"
	const before, after = `{"events":[],"next":"e1"}`, `{"events":[],"gap":{"reason":"restarted"},"next":"e9"}`
	record := func(state string) string {
		return `{"operation_id":"op","edge_id":"a","operation":"x","state":"` + state + `"}`
	}
	for name, c := range map[string]struct {
		posts, looks []string
		exit         int
		says         string
	}{
		"at once":                {[]string{record("succeeded")}, []string{before}, exitOK, ""},
		"over an outage":         {[]string{"502", record("succeeded")}, []string{before, "502", "502", before}, exitOK, outage + "|; trying again\n|iop: the Control Plane answers again\n"},
		"over a restart":         {[]string{"502"}, []string{before, "502", after}, exitNotNow, outage + "|; trying again\n|iop: the Control Plane answers again\n|iop: the Control Plane was restarted"},
		"to one that still runs": {[]string{record("accepted")}, []string{before}, exitOK, "It is still running."},
		"to one that may have":   {[]string{record("unknown")}, []string{before}, exitNotNow, "iop: x on a: unknown (it may have run)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: map[string][]string{"/fleet/events": c.looks, "/edges/a/commands": c.posts}}
			exit, _, talk := s.iop(t, "run", "a", "x")
			wantInOrder(t, talk, c.says)
			if exit != c.exit || strings.Count(talk, outage) != strings.Count(c.says, outage) || strings.Contains(talk, "still running") != strings.Contains(c.says, "still running") {
				t.Errorf("exit code %d, want %d; it says\n%s", exit, c.exit, talk)
			}
		})
	}
}
