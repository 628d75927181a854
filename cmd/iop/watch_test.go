package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"iop/client"
)

func TestWhatAWatchShows(t *testing.T) {
	edge := func(id string, s client.State) *client.Edge { return &client.Edge{EdgeID: id, State: s} }
	anew := func(e *client.Edge) *client.Edge { e.Connections++; return e }
	type look struct {
		listed, left []*client.Edge
		want         []string
	}
	for name, c := range map[string]struct {
		state client.State
		looks []look
	}{
		"all": {"", []look{
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Disconnected)}, want: []string{"a connected", "b disconnected"}},
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Disconnected)}},
			{listed: []*client.Edge{anew(edge("a", client.Connected)), edge("b", client.Disconnected), edge("c", client.Connected)}, want: []string{"a connected", "c connected"}},
			{listed: []*client.Edge{edge("a", client.Stale)}, want: []string{"a stale", "b gone", "c gone"}},
			{want: []string{"a gone"}},
		}},
		"those in one state": {client.Connected, []look{
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Disconnected)}, want: []string{"a connected"}},
			{listed: []*client.Edge{edge("a", client.Disconnected), edge("b", client.Connected)}, want: []string{"a disconnected", "b connected"}},
			{listed: []*client.Edge{edge("a", client.Stale), edge("b", client.Connected)}},
			{want: []string{"b gone"}},
		}},
		"those that left": {client.Connected, []look{
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Disconnected)}, want: []string{"a connected"}},
			{left: []*client.Edge{edge("a", client.Connected), edge("b", client.Connected)}, want: []string{"a connected"}},
			{},
			{listed: []*client.Edge{edge("a", client.Connected)}, want: []string{"a connected"}},
		}},
	} {
		w := edgeWatch{state: c.state, marks: map[string]edgeMark{}}
		for i, l := range c.looks {
			var got []string
			for _, x := range w.changes(l.listed, l.left) {
				what := string(x.State)
				if x.Gone {
					what = "gone"
				}
				got = append(got, x.EdgeID+" "+what)
			}
			if diff := cmp.Diff(l.want, got); diff != "" {
				t.Errorf("%s, look %d (-want +got):\n%s", name, i, diff)
			}
		}
	}
}
