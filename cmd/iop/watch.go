package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
)

const (
	shortestLook = 500 * time.Millisecond
	defaultLook  = 2 * time.Second
)

func (a *app) edgesWatch() *cobra.Command {
	var filter edgeFilter
	every := defaultLook
	c := &cobra.Command{
		Use:   "watch",
		Short: "List the Edges, and then each whose state changes, until Ctrl-C",
		Long: `Lists the Edges and looks again every few seconds: an Edge whose state, connection or conflict has changed is shown again, and
one that is no longer listed is shown as gone. With --state an Edge is shown when it comes to this state and when it leaves it. A
change that is undone between two looks shows only in SINCE; "iop events -f" has every step.`,
		Args: cobra.NoArgs,
		Example: `  iop edges watch
  iop edges watch --label region=kr-south -o jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < shortestLook {
				return usage(cmd, "--every %v is under %v", every, shortestLook)
			}
			repo, err := a.repository()
			if err != nil {
				return err
			}
			return a.watchEdges(cmd.Context(), repo, filter.query(), every)
		},
	}
	filter.register(c)
	c.Flags().DurationVar(&every, "every", every, "how often to look")
	return c
}

func (a *app) watchEdges(ctx context.Context, repo *client.Repository, q client.EdgeQuery, every time.Duration) error {
	w := edgeWatch{state: q.State, marks: map[string]edgeMark{}}
	q.State = "" // asked for, it would make an Edge that is in another state now look as if it were forgotten
	listed, left, err := w.look(ctx, repo, q)
	if err != nil {
		return err
	}
	if err := a.showChanges(w.changes(listed, left)); err != nil {
		return err
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	lost := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		listed, left, err := w.look(ctx, repo, q)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && a.explain(err).exit != exitNotNow:
			return err
		case err != nil && !lost:
			a.say("iop: %s; looking again every %s", a.explain(err).what, span(every))
			lost = true
			continue
		case err != nil:
			continue
		}
		lost = false
		if err := a.showChanges(w.changes(listed, left)); err != nil {
			return err
		}
	}
}

// edgeWatch tells what is new about Edges.
type edgeWatch struct {
	state client.State // those in it alone are shown; empty: all
	marks map[string]edgeMark
}

// look gives the Edges that are listed; and as left those that aren't any more and still are there: an Edge can come back with
// other labels.
func (w *edgeWatch) look(ctx context.Context, repo *client.Repository, q client.EdgeQuery) (listed, left []*client.Edge, err error) {
	page, err := allEdges(ctx, repo, q)
	if err != nil {
		return nil, nil, err
	}
	if len(q.Labels) == 0 {
		return page.Edges, nil, nil
	}
	for _, id := range w.missing(page.Edges) {
		e, err := repo.Edge(ctx, id)
		switch {
		case err == nil:
			left = append(left, e)
		case !errors.Is(err, client.EdgeNotFound):
			return nil, nil, err
		}
	}
	return page.Edges, left, nil
}

// missing are the ids that a list has no more, in order.
func (w *edgeWatch) missing(listed []*client.Edge) (ids []string) {
	there := map[string]bool{}
	for _, e := range listed {
		there[e.EdgeID] = true
	}
	for id := range w.marks {
		if !there[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// edgeMark is what makes an Edge worth another line.
type edgeMark struct {
	state       client.State
	connections uint64
	conflict    bool
	last        *client.Edge
}

func (m edgeMark) same(o edgeMark) bool {
	return m.state == o.state && m.connections == o.connections && m.conflict == o.conflict
}

// edgeChange is an Edge that is another one than at the last look; or gone.
type edgeChange struct {
	*client.Edge
	Gone bool `json:"gone"` // forgotten by the Control Plane
}

// changes gives what is new, by edge_id; those that have left the list last.
func (w *edgeWatch) changes(listed, left []*client.Edge) (changed []edgeChange) {
	for _, e := range listed {
		mark := edgeMark{state: e.State, connections: e.Connections, conflict: e.Conflict, last: e}
		before, known := w.marks[e.EdgeID]
		if (w.shows(e.State) || known && w.shows(before.state)) && !before.same(mark) {
			changed = append(changed, edgeChange{Edge: e})
		}
		w.marks[e.EdgeID] = mark
	}
	there := map[string]*client.Edge{}
	for _, e := range left {
		there[e.EdgeID] = e
	}
	for _, id := range w.missing(listed) {
		last := w.marks[id]
		delete(w.marks, id)
		switch now := there[id]; {
		case !w.shows(last.state):
		case now != nil:
			changed = append(changed, edgeChange{Edge: now})
		default:
			changed = append(changed, edgeChange{Edge: last.last, Gone: true})
		}
	}
	return changed
}

func (w *edgeWatch) shows(s client.State) bool { return w.state == "" || w.state == s }

func (a *app) showChanges(changes []edgeChange) error {
	for _, c := range changes {
		if !a.format.isTable() {
			if err := a.showNext(c); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(a.stdout, a.changeLine(c)); err != nil {
			return err
		}
	}
	return nil
}

// changeLine has columns of a fixed width, since what comes isn't known.
func (a *app) changeLine(c edgeChange) string {
	at := a.now().Local().Format("15:04:05")
	if a.flags.absolute || a.format == wide {
		at = moment(a.now())
	}
	state, why := string(c.State), edgeWhy(c.Edge)
	if c.Gone {
		state, why = "forgotten", "no longer listed"
	}
	p := page{looks: a.looks}
	return fmt.Sprintf("%s  %-24s  %s  %-20s  %s", at, clean(c.EdgeID), p.paint(state)+strings.Repeat(" ", max(0, 12-len(state))), why, count(c.Takeovers, "takeover"))
}
