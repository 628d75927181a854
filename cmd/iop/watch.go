package main

import (
	"context"
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
one that is no longer listed is shown as gone. A change that is undone between two looks shows only in SINCE; "iop events -f"
has every step.`,
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
	w := edgeWatch{}
	found, err := allEdges(ctx, repo, q)
	if err != nil {
		return err
	}
	if err := a.showChanges(w.changes(found.Edges)); err != nil {
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
		found, err := allEdges(ctx, repo, q)
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
		if err := a.showChanges(w.changes(found.Edges)); err != nil {
			return err
		}
	}
}

// edgeWatch tells what is new about Edges.
type edgeWatch map[string]edgeMark

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

// changes gives what is new, by edge_id; those that are gone last.
func (w edgeWatch) changes(now []*client.Edge) []edgeChange {
	var changed []edgeChange
	there := map[string]bool{}
	for _, e := range now {
		there[e.EdgeID] = true
		mark := edgeMark{state: e.State, connections: e.Connections, conflict: e.Conflict, last: e}
		if before, known := w[e.EdgeID]; !known || !before.same(mark) {
			changed = append(changed, edgeChange{Edge: e})
		}
		w[e.EdgeID] = mark
	}
	var gone []edgeChange
	for id, mark := range w {
		if !there[id] {
			gone = append(gone, edgeChange{Edge: mark.last, Gone: true})
			delete(w, id)
		}
	}
	slices.SortFunc(gone, func(x, y edgeChange) int { return strings.Compare(x.EdgeID, y.EdgeID) })
	return append(changed, gone...)
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
