package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) fleetStatus() *cobra.Command {
	var filter fleetFilter
	var troubled, check bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show every Edge, what is wrong with it, and what is free there",
		Args:  cobra.NoArgs,
		Example: `  iop fleet status
  iop fleet status --trouble
  iop fleet status --label region=kr-south -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			f, err := a.gatherFleet(cmd.Context(), repo, filter.query())
			if err != nil {
				return err
			}
			if troubled {
				f.keepTroubled()
			}
			if err := a.show(view{doc: f.doc, lines: f.lines(), table: func(p *page) { f.page(p, troubled, filter.any()) }}); err != nil {
				return err
			}
			if check {
				return f.check(troubled, filter.any())
			}
			return nil
		},
	}
	filter.register(c)
	c.Flags().BoolVar(&troubled, "trouble", false, "only Edges in trouble")
	c.Flags().BoolVar(&check, "check", false, "exit with 3 if an Edge is in trouble, or no Edge matches")
	return c
}

// fleetView is what every Edge said, and what the registry says of it.
type fleetView struct {
	doc      *client.FleetStatus
	rows     []*fleetRow
	troubled int
}

// fleetRow is one Edge. Each of edge and status can be nil: an Edge can come or go between two questions.
type fleetRow struct {
	id      string
	edge    *client.Edge
	status  *client.Status
	fault   client.Code
	trouble []string
}

func (a *app) gatherFleet(ctx context.Context, repo *client.Repository, q client.FleetQuery) (*fleetView, error) {
	f := &fleetView{}
	for page, err := range repo.AllFleetStatus(ctx, q) {
		if err != nil {
			return nil, err
		}
		f.add(page)
	}
	f.doc.NextCursor = nil
	edges := map[string]*client.Edge{}
	for e, err := range repo.AllEdges(ctx, client.EdgeQuery{Labels: q.Labels, Limit: pageSize}) {
		if err != nil {
			return nil, err
		}
		edges[e.EdgeID] = e
	}
	asks := mostAsked
	for _, row := range f.rows {
		row.edge = edges[row.id]
		var known orders
		var err error
		if a.format.isTable() && row.status != nil && hasClosed(row.status.Nodes) && asks > 0 {
			asks--
			if known, err = ordersOf(ctx, repo, row.id); err != nil && a.explain(err).exit == exitNotNow {
				asks = 0 // the next ones would wait for nothing, too; they only explain what is shown without them
			}
		}
		if row.trouble = a.trouble(row.edge, row.status, row.fault, known); len(row.trouble) > 0 {
			f.troubled++
		}
	}
	slices.SortFunc(f.rows, func(x, y *fleetRow) int { return cmp.Compare(x.id, y.id) })
	return f, nil
}

// add puts a page behind those that are there. The totals stay the first page's: later ones ask nobody.
func (f *fleetView) add(page *client.FleetStatus) {
	if f.doc == nil {
		f.doc = page
	} else {
		f.doc.Statuses = append(f.doc.Statuses, page.Statuses...)
		f.doc.Errors = append(f.doc.Errors, page.Errors...)
	}
	for _, s := range page.Statuses {
		f.rows = append(f.rows, &fleetRow{id: s.EdgeID, status: s})
	}
	for _, e := range page.Errors {
		f.rows = append(f.rows, &fleetRow{id: e.EdgeID, fault: e.Code})
	}
}

// check is an error where a fleet isn't all right.
func (f *fleetView) check(onlyTroubled, filtered bool) error {
	next := "iop fleet status --trouble"
	if onlyTroubled { // that was just asked
		next = "iop status EDGE, iop events EDGE"
	}
	switch {
	case f.doc.Edges.Total == 0:
		return errNoEdges(filtered)
	case f.troubled > 0:
		return failure{what: count(f.troubled, "Edge") + " in trouble", next: next, exit: exitDegraded}
	}
	return nil
}

// errNoEdges is a check's answer where there is nothing to check. After a restart of the Control Plane, or with a mistyped label, that
// must not pass for a fleet that is all right.
func errNoEdges(filtered bool) error {
	next := "do the Edges dial this Control Plane? An Edge's log tells"
	if filtered {
		next = "iop edges ls"
	}
	return failure{what: noEdges(filtered), next: next, exit: exitDegraded}
}

func (f *fleetView) keepTroubled() {
	bad := map[string]bool{}
	f.rows = slices.DeleteFunc(f.rows, func(row *fleetRow) bool { return len(row.trouble) == 0 })
	for _, row := range f.rows {
		bad[row.id] = true
	}
	f.doc.Statuses = slices.DeleteFunc(f.doc.Statuses, func(s *client.Status) bool { return !bad[s.EdgeID] })
}

// statusLine and faultLine are an Edge in jsonl: what it said or why it said nothing, and what isn't all right with it.
type statusLine struct {
	*client.Status
	Trouble []string `json:"trouble"`
}

type faultLine struct {
	client.EdgeFault
	Trouble []string `json:"trouble"`
}

func (f *fleetView) lines() []any {
	lines := make([]any, len(f.rows))
	for i, row := range f.rows {
		trouble := append([]string{}, row.trouble...) // [] and not null where there is none
		if row.status != nil {
			lines[i] = statusLine{row.status, trouble}
		} else {
			lines[i] = faultLine{client.EdgeFault{EdgeID: row.id, Code: row.fault}, trouble}
		}
	}
	return lines
}

func (f *fleetView) page(p *page, troubled, filtered bool) {
	rows := make([][]string, len(f.rows))
	for i, row := range f.rows {
		rows[i] = append(row.cells(), inShort(row.trouble, p.wide))
	}
	p.grid([]column{
		{name: "EDGE"}, {name: "STATE", state: true}, {name: "NODES UP", right: true, spare: 2}, {name: "AVAILABLE", right: true, spare: 3},
		{name: "IN FLIGHT", right: true, spare: 4}, {name: "CAPACITY", right: true, spare: 5}, {name: "QUEUED", right: true, spare: 1},
		{name: "AGE", right: true, spare: 6}, {name: "TROUBLE", prose: true},
	}, rows)
	if troubled && len(rows) == 0 && f.doc.Edges.Total > 0 {
		p.say("All Edges are all right.")
	}
	p.say("%s", edgeTotals(f.doc.Edges, filtered))
}

// cells are the numbers of a snapshot; of an Edge that gave none nothing is known.
func (r *fleetRow) cells() []string {
	state := "no answer"
	if r.edge != nil {
		state = string(r.edge.State)
	}
	if r.status == nil {
		return []string{clean(r.id), state, unknown, unknown, unknown, unknown, unknown, unknown}
	}
	n := addUp(r.status)
	return []string{clean(r.id), state, fmt.Sprintf("%d/%d", n.nodesUp, n.nodes), fmt.Sprintf("%d/%d", n.available, n.providers),
		number(n.general.InFlight), n.capacityCell(), number(n.general.Queued), span(r.status.Age())}
}

// sums are what a snapshot adds up to.
type sums struct {
	nodes, nodesUp, providers, available int
	general                              client.Counters
}

func (n *sums) capacityCell() string {
	return roomCell(n.general.Capacity, n.general.Capacity, n.available > 0)
}

// addUp counts as the fleet's totals do: available is what its provider calls so, and busy isn't.
func addUp(s *client.Status) (n sums) {
	for _, node := range s.Nodes {
		n.nodes++
		n.providers += len(node.Providers)
		if !node.Connected {
			continue
		}
		n.nodesUp++
		for _, p := range node.Providers {
			if p.Status == client.Available {
				n.available++
			}
			n.general.Capacity += p.General.Capacity
			n.general.InFlight += p.General.InFlight
			n.general.Queued += p.General.Queued
		}
	}
	return n
}
