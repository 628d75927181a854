package configs

import (
	"slices"
	"strings"
	"testing"
)

func TestBuiltInLoadScenarios(t *testing.T) {
	names := LoadScenarioNames()
	for _, want := range []string{"steady", "ramp", "reconnect-storm", "rolling-restart", "churn", "half-open", "slow-readers", "clones", "bad-answers", "command-storm", "simple"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no scenario %s", want)
		}
	}
	for _, name := range names {
		s, err := LoadScenarioOf(name, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name || s.Description == "" || len(s.Thresholds) == 0 {
			t.Errorf("%s: name %q, description %q, thresholds %v", name, s.Name, s.Description, s.Thresholds)
		}
	}
}

func TestLoadScenarioFlagsGoOverTheFile(t *testing.T) {
	s, err := LoadScenarioOf("steady", map[string]string{"edges": "7", "duration": "5s"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Edges.Count != 7 || s.Traffic.Duration.Seconds() != 5 || s.Traffic.StatusRate != 500 {
		t.Errorf("%d Edges, %v, %d status reads a second", s.Edges.Count, s.Traffic.Duration, s.Traffic.StatusRate)
	}
}

func TestLoadScenarioWithoutAFile(t *testing.T) {
	s, err := LoadScenarioOf("", nil)
	if err != nil || s.Name != "flags" || s.Edges.Count == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestLoadScenariosThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct{ scenario, flag, value, says string }{
		"no such scenario": {"none", "", "", "none: is no scenario; expected one of"},
		"no such file":     {"./none.yaml", "", "", "./none.yaml: can't be read"},
		"a bad flag":       {"", "edges", "-1", "--edges: edges.count: "},
		"a disturbance after the end": {"reconnect-storm", "duration", "1s",
			"configs/load/reconnect-storm.yaml:11: disturb[0].at: 5s is after the end of the traffic"},
	} {
		flags := map[string]string{}
		if c.flag != "" {
			flags[c.flag] = c.value
		}
		if _, err := LoadScenarioOf(c.scenario, flags); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want it to say %q", name, err, c.says)
		}
	}
}
