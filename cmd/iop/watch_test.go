package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/client"
)

func TestWhatAWatchShows(t *testing.T) {
	edge := func(id string, s client.State, region ...string) *client.Edge {
		e := &client.Edge{EdgeID: id, State: s, Connected: s != client.Disconnected}
		if !e.Connected {
			e.DisconnectReason = ptr("goodbye")
		}
		for _, r := range region {
			e.Labels = map[string]string{"region": r}
		}
		return e
	}
	anew := func(e *client.Edge) *client.Edge { e.Connections++; return e }
	type look struct {
		listed, left []*client.Edge
		want         []string
	}
	for name, c := range map[string]struct {
		query client.EdgeQuery
		looks []look
	}{
		"all": {client.EdgeQuery{}, []look{
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Disconnected)}, want: []string{"a connected", "b disconnected"}},
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Disconnected)}},
			{listed: []*client.Edge{anew(edge("a", client.Connected)), edge("b", client.Disconnected), edge("c", client.Connected)}, want: []string{"a connected", "c connected"}},
			{listed: []*client.Edge{edge("a", client.Stale)}, want: []string{"a stale", "b gone: no longer listed", "c gone: no longer listed"}},
			{want: []string{"a gone: no longer listed"}},
		}},
		"those in one state": {client.EdgeQuery{State: client.Connected}, []look{
			{listed: []*client.Edge{edge("a", client.Connected), edge("b", client.Connected)}, want: []string{"a connected", "b connected"}},
			{listed: []*client.Edge{edge("b", client.Connected)}, left: []*client.Edge{edge("a", client.Disconnected)}, want: []string{"a disconnected, left: goodbye"}},
			{listed: []*client.Edge{edge("b", client.Connected)}},
			{want: []string{"b gone: no longer listed"}},
			{listed: []*client.Edge{edge("a", client.Connected)}, want: []string{"a connected"}},
		}},
		"those with a label": {client.EdgeQuery{Labels: map[string]string{"region": "kr"}}, []look{
			{listed: []*client.Edge{edge("a", client.Connected, "kr")}, want: []string{"a connected"}},
			{left: []*client.Edge{edge("a", client.Connected, "jp")}, want: []string{"a connected, left: other labels now"}},
			{},
			{listed: []*client.Edge{edge("a", client.Connected, "kr")}, want: []string{"a connected"}},
			{left: []*client.Edge{edge("a", client.Connected)}, want: []string{"a connected, left: other labels now"}},
		}},
	} {
		w := edgeWatch{query: c.query, marks: map[string]edgeMark{}}
		for i, l := range c.looks {
			var got []string
			for _, x := range w.changes(l.listed, l.left) {
				what := string(x.State)
				switch {
				case x.Gone:
					what = "gone: " + x.why
				case x.Left:
					what += ", left: " + x.why
				}
				got = append(got, x.EdgeID+" "+what)
			}
			if diff := cmp.Diff(l.want, got); diff != "" {
				t.Errorf("%s, look %d (-want +got):\n%s", name, i, diff)
			}
		}
	}
}

// A look asks for the list that is wanted and for those that have left it, not for the whole registry again and again.
func TestWhatAWatchAsksFor(t *testing.T) {
	edge := func(id string, s client.State) *client.Edge { return &client.Edge{EdgeID: id, State: s} }
	edges := func(all ...*client.Edge) []*client.Edge { return all }
	document := func(v any) string {
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(doc)
	}
	many, gone := edges(), edges()
	for i := range mostSingly + 1 {
		id := fmt.Sprintf("m-%03d", i)
		many, gone = append(many, edge(id, client.Connected)), append(gone, edge(id, client.Disconnected))
	}
	const list = "/edges?limit=1000&state=connected"
	for name, c := range map[string]struct {
		before, after []*client.Edge // as they are listed
		registry      []*client.Edge // whatever their state
		asked         string
		listed, left  int
	}{
		"nobody left":      {edges(edge("a", client.Connected)), edges(edge("a", client.Connected)), nil, "", 1, 0},
		"one left":         {edges(edge("a", client.Connected)), nil, edges(edge("a", client.Stale)), " /edges/a", 0, 1},
		"one is forgotten": {edges(edge("a", client.Connected)), nil, nil, " /edges/a", 0, 0},
		"one is back":      {edges(edge("a", client.Connected)), nil, edges(edge("a", client.Connected)), " /edges/a", 1, 0},
		"many left":        {many, nil, append(gone[1:], edge("other", client.Stale)), " /edges?limit=1000", 0, len(many) - 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: map[string][]string{}}
			for _, all := range [][]*client.Edge{c.before, c.after, c.registry} {
				s.answers["/edges"] = append(s.answers["/edges"], document(client.EdgePage{Edges: all}))
			}
			for _, e := range c.registry {
				s.answers["/edges/"+e.EdgeID] = []string{document(e)}
			}
			repo := s.repository(t)
			w := edgeWatch{query: client.EdgeQuery{State: client.Connected, Limit: pageSize}, marks: map[string]edgeMark{}}
			listed, left, err := w.look(t.Context(), repo)
			if err != nil || len(listed) != len(c.before) || len(left) > 0 {
				t.Fatalf("the first look has %d and %d, %v", len(listed), len(left), err)
			}
			w.changes(listed, left)
			if listed, left, err = w.look(t.Context(), repo); err != nil || len(listed) != c.listed || len(left) != c.left {
				t.Errorf("the next look has %d and %d, %v", len(listed), len(left), err)
			}
			if got, want := strings.Join(s.asked, " "), list+" "+list+c.asked; got != want {
				t.Errorf("asked for %s, want %s", got, want)
			}
		})
	}
}

// A watch outlasts a Control Plane that is down behind a proxy. It says so once, and that it is over.
func TestAWatchOutlastsAProxysPages(t *testing.T) {
	const edges = `{"edges":[{"edge_id":"a","state":"connected"}],"total":1}`
	s := &scripted{answers: map[string][]string{"/edges": {edges, "503", "502", "504", edges}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, talk bytes.Buffer
	a := testApp()
	a.stdout, a.stderr = &out, writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), "again\n") {
			cancel()
		}
		return talk.Write(b)
	})
	err := a.watchEdges(ctx, s.repository(t), client.EdgeQuery{}, time.Millisecond)
	const want = "iop: something in between (a proxy?) answers 503: the Control Plane behind it is probably down; looking again every 1ms\n" +
		"iop: the Control Plane answers again\n"
	if !errors.Is(err, context.Canceled) || talk.String() != want || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("it ends with %v, shows %q and says %q", err, out.String(), talk.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A proxy in front of a Control Plane that is down is no other server: it can be asked again.
func TestAProxysPage(t *testing.T) {
	for status, exit := range map[string]int{"500": exitFailed, "502": exitNotNow, "503": exitNotNow, "504": exitNotNow} {
		s := &scripted{answers: map[string][]string{"/edges": {status}}}
		code, _, talk := s.iop(t, "edges", "ls")
		if code != exit || strings.Contains(talk, "a proxy?") != (exit == exitNotNow) {
			t.Errorf("%s: exit code %d; it says %s", status, code, talk)
		}
	}
}
