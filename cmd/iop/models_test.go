package main

import (
	"fmt"
	"strings"
	"testing"
)

// That no Edge serves a model is said only where every Edge has said what it serves.
func TestWhetherAnEdgeServesAModel(t *testing.T) {
	const none, qwen = `{"models":[]}`, `{"models":[{"model":"gemma"},{"model":"qwen","edges":1}]}`
	totals := func(connected, fresh int) string {
		return fmt.Sprintf(`{"edges":{"total":%d},"fresh":{"edges":%d}}`, connected, fresh)
	}
	withGone := func(gone, connected, fresh int) string {
		return fmt.Sprintf(`{"edges":{"total":%d,"disconnected":%d},"fresh":{"edges":%d}}`, gone+connected, gone, fresh)
	}
	for name, c := range map[string]struct {
		args   string
		models []string
		totals string
		exit   int
		says   string
	}{
		"it is served":                              {"qwen", []string{qwen}, "", exitOK, ""},
		"all have answered":                         {"qwen", []string{none}, totals(2, 2), exitNotFound, `no Edge serves "qwen"`},
		"one gave no answer":                        {"qwen", []string{none}, totals(2, 1), exitNotNow, "of 2 connected Edges 1 gave no answer"},
		"one is disconnected":                       {"qwen", []string{none}, withGone(1, 1, 1), exitNotFound, `no Edge serves "qwen"`},
		"all are disconnected":                      {"qwen", []string{none}, withGone(2, 0, 0), exitNotNow, "no Edge is connected"},
		"no Edge is known":                          {"qwen", []string{none}, totals(0, 0), exitNotNow, "no Edge is known"},
		"one answered in between":                   {"qwen", []string{none, qwen}, totals(2, 2), exitOK, ""},
		"others are served, and one gave no answer": {"gpt-9", []string{qwen}, totals(2, 1), exitNotNow, "isn't known"},
		"no model, all have answered":               {"", []string{none}, totals(2, 2), exitOK, "No Edge serves a model."},
		"no model, one gave no answer":              {"", []string{none}, totals(2, 1), exitOK, "No Edge says that it serves a model: of 2 connected Edges 1 gave no answer."},
		"no model, and some are wanted":             {"--min-free 1", []string{none}, totals(2, 2), exitDegraded, "no Edge says that it serves a model"},
		"no model, and 0 is enough of each":         {"--min-free 0", []string{none}, totals(2, 2), exitDegraded, "no Edge says that it serves a model"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: map[string][]string{"/fleet/models": c.models, "/fleet/summary": {c.totals}}}
			exit, _, talk := s.iop(t, append([]string{"fleet", "models"}, strings.Fields(c.args)...)...)
			if exit != c.exit || !strings.Contains(talk, c.says) {
				t.Errorf("exit code %d, want %d; it says %s", exit, c.exit, talk)
			}
		})
	}
}
