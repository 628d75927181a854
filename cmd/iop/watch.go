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
one that is no longer listed is shown as forgotten ("gone" in JSON). With --state or --label an Edge is also shown once when it
is no longer in this state, or comes back with other labels ("left" in JSON). What happens between two looks isn't shown;
"iop events -f" has every step.`,
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
	w := edgeWatch{query: q, marks: map[string]edgeMark{}}
	listed, left, err := w.look(ctx, repo)
	if err != nil {
		return err
	}
	if err := a.showChanges(w.changes(listed, left)); err != nil {
		return err
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	silence := outage{app: a}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		listed, left, err := w.look(ctx, repo)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && a.explain(err).exit != exitNotNow:
			return err
		}
		if silence.after(err, "looking again every "+span(every)); err != nil {
			continue
		}
		if err := a.showChanges(w.changes(listed, left)); err != nil {
			return err
		}
	}
}

// edgeWatch tells what is new about Edges.
type edgeWatch struct {
	query client.EdgeQuery
	marks map[string]edgeMark // of those that were listed last
}

// mostSingly is how many Edges that have left a list are asked for one by one. Where more have, as when a network is cut, the pages of
// the whole registry are fewer requests.
const mostSingly = 100

// look gives the Edges that are listed; and as left those that aren't any more and still are there: with another state, or after
// they came back with other labels.
func (w *edgeWatch) look(ctx context.Context, repo *client.Repository) (listed, left []*client.Edge, err error) {
	page, err := allEdges(ctx, repo, w.query)
	if err != nil {
		return nil, nil, err
	}
	listed = page.Edges
	if w.query.State == "" && len(w.query.Labels) == 0 {
		return listed, nil, nil
	}
	others, err := w.stillKnown(ctx, repo, w.missing(listed))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range others {
		if w.query.State != "" && e.State != w.query.State || !w.hasLabels(e) {
			left = append(left, e)
		} else { // it came back between the two questions
			listed = append(listed, e)
		}
	}
	return listed, left, nil
}

// stillKnown gives those of some Edges, in order, that are.
func (w *edgeWatch) stillKnown(ctx context.Context, repo *client.Repository, ids []string) (known []*client.Edge, err error) {
	if len(ids) > mostSingly {
		all, err := allEdges(ctx, repo, client.EdgeQuery{Prefix: w.query.Prefix, Limit: pageSize})
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(all.Edges, func(e *client.Edge) bool {
			_, asked := slices.BinarySearch(ids, e.EdgeID)
			return !asked
		}), nil
	}
	for _, id := range ids {
		e, err := repo.Edge(ctx, id)
		switch {
		case err == nil:
			known = append(known, e)
		case !errors.Is(err, client.EdgeNotFound):
			return nil, err
		}
	}
	return known, nil
}

func (w *edgeWatch) hasLabels(e *client.Edge) bool {
	for k, v := range w.query.Labels {
		if has, ok := e.Labels[k]; !ok || has != v {
			return false
		}
	}
	return true
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
	Left bool `json:"left"` // known still, but without the state or a label that was asked for
	why  string
}

// changes gives what is new, by edge_id; those that have left the list last.
func (w *edgeWatch) changes(listed, left []*client.Edge) (changed []edgeChange) {
	for _, e := range listed {
		mark := edgeMark{state: e.State, connections: e.Connections, conflict: e.Conflict, last: e}
		if before, known := w.marks[e.EdgeID]; !known || !before.same(mark) {
			changed = append(changed, edgeChange{Edge: e, why: edgeWhy(e)})
		}
		w.marks[e.EdgeID] = mark
	}
	there := map[string]*client.Edge{}
	for _, e := range left {
		there[e.EdgeID] = e
	}
	for _, id := range w.missing(listed) {
		change := edgeChange{Edge: there[id], Left: true}
		switch {
		case change.Edge == nil:
			change = edgeChange{Edge: w.marks[id].last, Gone: true, why: "no longer listed"}
		case !w.hasLabels(change.Edge):
			change.why = "other labels now"
		default:
			change.why = edgeWhy(change.Edge)
		}
		changed = append(changed, change)
		delete(w.marks, id)
	}
	return changed
}

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
	state := string(c.State)
	if c.Gone {
		state = "forgotten"
	}
	p := page{looks: a.looks}
	return fmt.Sprintf("%s  %-24s  %s  %-20s  %s", a.clock(a.now()), clean(c.EdgeID), p.paint(state)+strings.Repeat(" ", max(0, 12-len(state))), c.why, count(c.Takeovers, "takeover"))
}
