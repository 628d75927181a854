package main

import (
	"strings"
	"testing"
	"time"

	"iop/edge"
)

func TestWhatIsntKnownIsNotPrintedAsZero(t *testing.T) {
	known := edge.Provider{ID: "a", Type: "vllm", Status: edge.Available, Health: edge.Online, General: edge.Counters{InFlight: 3}, Models: []string{"m", "n"}}
	mute := edge.Provider{ID: "b", Type: "vllm", Health: edge.Online, General: edge.Counters{Capacity: 8}, Models: []string{"m"}}
	var out strings.Builder
	report := &statusReport{EdgeID: "seoul-1", Version: "dev", Nodes: []edge.Node{{ID: "n", Connected: true, Providers: []edge.Provider{known, mute}}, {ID: "o"}}}
	if err := printStatus(&out, report, time.Time{}.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"n connected a vllm available online 3/? 0 - 0 m,n",
		"n connected b vllm unspecified online ? ? ? ? m",
		"o disconnected -",
	}
	if got := lines[len(lines)-len(want):]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed is\n%s", out.String())
	}
}

// An agent's types and a backend's models must neither steer the terminal nor make a line of their own.
func TestWhatOthersSaidIsPrintedClean(t *testing.T) {
	const foul = "x\x1b[2J\n\u009b31m\u202e"
	p := edge.Provider{ID: foul, Type: foul, Status: edge.Available, Health: edge.Online, Models: []string{foul, foul}}
	report := &statusReport{EdgeID: foul, Version: foul, Nodes: []edge.Node{{ID: foul, Providers: []edge.Provider{p}}, {ID: foul}}}
	var out strings.Builder
	if err := printStatus(&out, report, time.Now()); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\u202e") || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("printed is %q", out.String())
	}
}
