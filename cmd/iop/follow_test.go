package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"iop/client"
)

// Where the list ends and where the stream begins: nothing is left out between them, and nothing is said to be missing that the
// Control Plane has.
func TestWhereALiveStreamBegins(t *testing.T) {
	const empty, gone = `{"events":[],"gap":null,"next":null}`, `{"events":[{"id":"e5","edge_id":"b"}],"gap":{"dropped":4,"reason":"overwritten"},"next":"e5"}`
	list := func(ids ...string) string {
		var events []string
		for _, id := range ids {
			events = append(events, fmt.Sprintf(`{"id":%q,"edge_id":"a","kind":%[1]q}`, id))
		}
		return fmt.Sprintf(`{"events":[%s],"gap":null,"next":%q}`, strings.Join(events, ","), ids[len(ids)-1])
	}
	for name, c := range map[string]struct {
		ask         eventsAsk
		fleet, edge []string
		want        client.FollowQuery
		shows       []string
		err         error
	}{
		"of all":                       {eventsAsk{limit: 20}, []string{list("e1", "e2")}, nil, client.FollowQuery{After: "e2"}, []string{"e1", "e2"}, nil},
		"of all, nothing happened yet": {eventsAsk{limit: 20}, []string{empty}, nil, client.FollowQuery{FromStart: true}, nil, nil},
		"of all, behind an id":         {eventsAsk{limit: 20, after: "e1"}, nil, nil, client.FollowQuery{After: "e1"}, nil, nil},
		"of one":                       {eventsAsk{limit: 20, edge: "a"}, []string{list("e9")}, []string{list("e1", "e2")}, client.FollowQuery{After: "e9"}, []string{"e1", "e2"}, nil},
		"of one, nothing happened yet": {eventsAsk{limit: 20, edge: "a"}, []string{empty}, []string{empty}, client.FollowQuery{FromStart: true}, nil, nil},
		"of one, behind an id that the fleet's ring has": {eventsAsk{limit: 20, edge: "a", after: "e1"},
			[]string{list("e2"), list("e9")}, []string{list("e9"), gone}, client.FollowQuery{After: "e1"}, nil, nil},
		"of one, behind an id that only its own ring has": {eventsAsk{limit: 20, edge: "a", after: "e1"},
			[]string{gone, list("e9")}, []string{list("e9"), list("e2", "e9")}, client.FollowQuery{After: "e9"}, []string{"e2", "e9"}, nil},
		"of one that nobody knows": {eventsAsk{limit: 20, edge: "a", after: "e1"}, []string{list("e2")}, nil, client.FollowQuery{}, nil, client.EdgeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: map[string][]string{"/fleet/events": c.fleet, "/edges/a/events": c.edge}}
			var out bytes.Buffer
			a := testApp()
			a.stdout, a.format = &out, jsonLines
			live, err := (&tail{app: a, edge: c.ask.edge, shown: map[string]bool{}}).begin(t.Context(), s.repository(t), c.ask)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if err == nil && (live.After != c.want.After || live.FromStart != c.want.FromStart) {
				t.Errorf("it begins at %+v, want %+v", live, c.want)
			}
			var shows []string
			for line := range strings.Lines(out.String()) {
				_, id, _ := strings.Cut(line, `"id":"`)
				id, _, _ = strings.Cut(id, `"`)
				shows = append(shows, id)
			}
			if diff := cmp.Diff(c.shows, shows); diff != "" {
				t.Error(diff)
			}
		})
	}
}
