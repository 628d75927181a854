package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrid(t *testing.T) {
	columns := []column{{name: "EDGE"}, {name: "STATE", state: true}, {name: "N", right: true, spare: 2}, {name: "WHY", spare: 1}, {name: "ID", wide: true}, {name: "TROUBLE"}}
	rows := [][]string{{"a", "stale", "1", "because", "x1", "something is wrong here"}, {"서울-1", "connected", "100", unknown, "x2", unknown}}
	for name, c := range map[string]struct {
		page page
		want string
	}{
		"no terminal": {page{}, "" +
			"EDGE    STATE        N  WHY      TROUBLE\n" +
			"a       stale        1  because  something is wrong here\n" +
			"서울-1  connected  100  -        -\n"},
		"wide": {page{wide: true, looks: looks{terminal: true, width: 20}}, "" +
			"EDGE    STATE        N  WHY      ID  TROUBLE\n" +
			"a       stale        1  because  x1  something is wrong here\n" +
			"서울-1  connected  100  -        x2  -\n"},
		"a terminal does without what it has no room for": {page{looks: looks{terminal: true, width: 53}}, "" +
			"EDGE    STATE      WHY      TROUBLE\n" +
			"a       stale      because  something is wrong here\n" +
			"서울-1  connected  -        -\n"},
		"and cuts what has to stay": {page{looks: looks{terminal: true, width: 30}}, "" +
			"EDGE    STATE      TROUBLE\n" +
			"a       stale      something …\n" +
			"서울-1  connected  -\n"},
		"colours": {page{looks: looks{terminal: true, width: 80, color: true}}, "" +
			"EDGE    STATE        N  WHY      TROUBLE\n" +
			"a       \x1b[33mstale\x1b[0m        1  because  something is wrong here\n" +
			"서울-1  \x1b[32mconnected\x1b[0m  100  -        -\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c.page.grid(columns, rows)
			if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(c.page.text.String(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A long text of one row doesn't hide the numbers of all.
	columns[len(columns)-1].prose = true
	long := [][]string{{"a", "stale", "1", "because", "x1", strings.Repeat("node gpu-1 is drained; ", 9)}}
	p := page{looks: looks{terminal: true, width: 60}}
	p.grid(columns, long)
	if want := "EDGE  STATE  N  WHY      TROUBLE\na     stale  1  because  node gpu-1 is drained; node gpu-1 …\n"; p.text.String() != want {
		t.Errorf("a long text is shown as\n%swant\n%s", p.text.String(), want)
	}
	p = page{}
	if p.grid(columns, nil); p.text.Len() > 0 {
		t.Errorf("no rows are shown as %q", p.text.String())
	}
}
