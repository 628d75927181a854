package main

import (
	"strings"
	"testing"
)

func init() { completionTime = soon } // a shell's patience is not what is tested

// What an Edge calls an operation can't speak to whoever completes it, nor run anything.
func TestOnlyWordsAreCompleted(t *testing.T) {
	s := &scripted{answers: map[string][]string{"/edges/a": {`{"edge_id":"a","operations":["node.drain","_activeHelp_ Call 555-0100.",
		" _activeHelp_ x","a\tit is safe","b\nc","$(reboot)","\u001b[2J","모델.load","x/y:z_1-2",""]}`}}}
	const want = "node.drain\n모델.load\nx/y:z_1-2\n:4\n"
	if _, out, _ := s.iop(t, "__complete", "run", "a", ""); out != want {
		t.Errorf("%q is completed, want %q", out, want)
	}
}

// A shell inserts what all ids that it is offered have in common, so that it is offered all or none.
func TestEdgesAreCompletedOnlyIfAllAreKnown(t *testing.T) {
	for next, want := range map[string]string{"null": "busan-1\nbusan-2\n:4\n", `"busan-2"`: ":4\n"} {
		s := &scripted{answers: map[string][]string{"/edges": {`{"edges":[{"edge_id":"busan-1"},{"edge_id":"busan-2"}],"next_cursor":` + next + `}`}}}
		if _, out, _ := s.iop(t, "__complete", "status", "b"); out != want {
			t.Errorf("next_cursor %s: %q is completed, want %q", next, out, want)
		}
		if got := strings.Join(s.asked, " "); got != "/edges?limit=1000&prefix=b" {
			t.Errorf("asked for %s", got)
		}
	}
}

// Where no file is meant none is offered; directive 4 says so to the shell, 0 is for files.
func TestWhatIsCompleted(t *testing.T) {
	answers := map[string][]string{
		"/edges/a/status":     {`{"edge_id":"a","nodes":[{"node_id":"gpu-1"},{"node_id":"$(reboot)"},{"node_id":"gpu-2"}]}`},
		"/fleet/models":       {`{"models":[{"model":"qwen3-32b"},{"model":"a b"},{"model":"org/m"}]}`},
		"/edges/a/operations": {`{"operations":[{"operation_id":"o2"},{"operation_id":"o1"}]}`},
	}
	for args, want := range map[string]string{
		"run a node.drain --node":    "gpu-1\ngpu-2\n:4\n",
		"run --node":                 ":4\n",
		"run b node.drain --node":    ":4\n",
		"run a node.drain --reason":  ":4\n",
		"fleet models":               "qwen3-32b\norg/m\n:4\n",
		"fleet models x":             ":4\n",
		"fleet status --label":       ":4\n",
		"edges ls":                   ":4\n",
		"edges ls --label":           ":4\n",
		"ops get a":                  "o2\no1\n:4\n",
		"ops get a o1":               ":4\n",
		"edges ls --ca-file":         ":0\n",
		"context set x --token-file": ":0\n",
		"completion":                 "bash\tGenerate the autocompletion script for bash\n",
	} {
		s := &scripted{answers: answers}
		if _, out, _ := s.iop(t, append(append([]string{"__complete"}, strings.Fields(args)...), "")...); !strings.HasPrefix(out, want) {
			t.Errorf("iop %s: %q is completed, want %q", args, out, want)
		}
	}
}
