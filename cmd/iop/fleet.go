package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) fleetCommand() *cobra.Command {
	c := &cobra.Command{Use: "fleet", Short: "All Edges at once: status, totals, models",
		Example: "  iop fleet status --trouble\n  iop fleet summary\n  iop fleet models"}
	c.AddCommand(a.fleetStatus(), a.fleetSummary(), a.fleetModels())
	return c
}

// fleetFilter are the flags that fleet commands share.
type fleetFilter struct {
	labels  labelFlag
	maxAge  ageFlag
	timeout time.Duration
}

func (f *fleetFilter) register(c *cobra.Command) {
	c.Flags().VarP(&f.labels, "label", "l", "only Edges with this label; may be repeated, and then all must match")
	c.Flags().Var(&f.maxAge, "max-age", "use snapshots up to this old, and ask the Edges that have none (default 15s)")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "how long Edges have to answer, at most 30s (default 2s)")
}

func (f *fleetFilter) query() client.FleetQuery {
	return client.FleetQuery{Labels: f.labels, MaxAge: f.maxAge.given, Timeout: f.timeout, Limit: pageSize}
}

func (f *fleetFilter) any() bool { return len(f.labels) > 0 }

func (a *app) fleetSummary() *cobra.Command {
	var filter fleetFilter
	var check bool
	var minFree uint64
	c := &cobra.Command{
		Use:   "summary",
		Short: "Show what the fleet adds up to",
		Long: `Shows what the Edges' snapshots add up to. An Edge that has no recent enough snapshot and doesn't answer is counted under
"unanswered" and in no total. What disconnected Edges reported last is shown separately; don't plan with it.`,
		Args: cobra.NoArgs,
		Example: `  iop fleet summary
  iop fleet summary --label region=kr-south
  iop fleet summary --min-free 1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			s, err := repo.FleetSummary(cmd.Context(), filter.query())
			if err != nil {
				return err
			}
			if err := a.show(view{doc: s, table: func(p *page) { summaryPage(p, s, filter.any()) }}); err != nil {
				return err
			}
			if cmd.Flags().Changed("min-free") && s.Fresh.General.Free < minFree {
				return failure{what: fmt.Sprintf("%d free is less than %d", s.Fresh.General.Free, minFree), next: "iop fleet models", exit: exitDegraded}
			}
			if check {
				return checkSummary(s, filter.any())
			}
			return nil
		},
	}
	filter.register(c)
	c.Flags().BoolVar(&check, "check", false, "exit with 3 if an Edge is stale or disconnected or did not answer, or no Edge matches")
	c.Flags().Uint64Var(&minFree, "min-free", 0, "exit with 3 if the free general capacity is below this")
	return c
}

func checkSummary(s *client.FleetSummary, filtered bool) error {
	switch {
	case s.Edges.Total == 0:
		return errNoEdges(filtered)
	case s.Edges.Connected == s.Edges.Total && s.Unanswered == 0:
		return nil
	}
	return failure{what: fmt.Sprintf("of %s %d are stale, %d disconnected; %d gave no answer",
		count(s.Edges.Total, "Edge"), s.Edges.Stale, s.Edges.Disconnected, s.Unanswered), next: "iop fleet status --trouble", exit: exitDegraded}
}

func summaryPage(p *page, s *client.FleetSummary, filtered bool) {
	rows := [][]string{totalsRow("fresh", &s.Fresh)}
	if s.Stale.Edges > 0 {
		rows = append(rows, totalsRow("last known", &s.Stale))
	}
	if s.Unanswered > 0 {
		row := []string{"unanswered", number(s.Unanswered)}
		for range len(rows[0]) - len(row) {
			row = append(row, unknown)
		}
		rows = append(rows, row)
	}
	p.grid(append([]column{
		{name: "TOTAL"}, {name: "EDGES", right: true}, {name: "NODES UP", right: true}, {name: "AVAILABLE", right: true},
	}, capacityColumns...), rows)
	p.say("%s", edgeTotals(s.Edges, filtered))
	p.say("%d answered, %d unanswered; the oldest snapshot is %s old", s.Answered, s.Unanswered, millis(s.OldestAgeMS))
}

func totalsRow(name string, t *client.Totals) []string {
	row := []string{name, number(t.Edges), fmt.Sprintf("%d/%d", t.NodesConnected, t.Nodes), fmt.Sprintf("%d/%d", t.ProvidersAvailable, t.Providers)}
	return append(row, capacityCells(t.General, t.LongContext, t.ProvidersAvailable)...)
}

var capacityColumns = []column{
	{name: "IN FLIGHT", right: true}, {name: "CAPACITY", right: true}, {name: "QUEUED", right: true}, {name: "FREE", right: true},
	{name: "LONG IN FLIGHT", right: true, wide: true}, {name: "LONG CAPACITY", right: true, wide: true},
	{name: "LONG QUEUED", right: true, wide: true}, {name: "LONG FREE", right: true},
}

func capacityCells(general, long client.Capacity, available int) []string {
	serves := available > 0
	return []string{
		number(general.InFlight), roomCell(general.Capacity, general.Capacity, serves), number(general.Queued), roomCell(general.Free, general.Capacity, serves),
		number(long.InFlight), number(long.Capacity), number(long.Queued), number(long.Free),
	}
}

func (a *app) fleetModels() *cobra.Command {
	var filter fleetFilter
	var minFree uint64
	c := &cobra.Command{
		Use:   "models [MODEL]",
		Short: "Show what serves which model, and how much of it is free",
		Long: `Shows capacity by model over the connected Edges. A provider of several models counts in full under each, so the rows add up to
more than the fleet has.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeModel,
		Example: `  iop fleet models
  iop fleet models qwen3-32b --min-free 1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			q := filter.query()
			q.Limit = 0 // it has no pages
			var models *client.FleetModels
			var silent string
			if len(args) > 0 {
				models, err = fleetModel(cmd.Context(), repo, q, args[0])
			} else {
				models, silent, err = allModels(cmd.Context(), repo, q)
			}
			if err != nil {
				return err
			}
			if err := a.show(view{doc: models, lines: anys(models.Models), table: func(p *page) { modelsPage(p, models.Models, silent) }}); err != nil {
				return err
			}
			if cmd.Flags().Changed("min-free") {
				return checkModels(models.Models, minFree)
			}
			return nil
		},
	}
	filter.register(c)
	c.Flags().Uint64Var(&minFree, "min-free", 0, "exit with 3 if the free general capacity of a model shown is below this, or no Edge serves a model")
	return c
}

// allModels has no models where no Edge serves one; silent then says whose aren't known, if any.
func allModels(ctx context.Context, repo *client.Repository, q client.FleetQuery) (models *client.FleetModels, silent string, err error) {
	models, err = repo.FleetModels(ctx, q)
	if err != nil || len(models.Models) > 0 {
		return models, "", err
	}
	totals, err := repo.FleetSummary(ctx, q)
	if err != nil {
		return nil, "", err
	}
	return models, silentEdges(totals, len(q.Labels) > 0), nil
}

// fleetModel has one model alone. That no Edge serves it is known only where all Edges have said what they serve: a list that leaves it
// out may only lack those that gave no answer. One that has answered between the two questions is in the next list.
func fleetModel(ctx context.Context, repo *client.Repository, q client.FleetQuery, name string) (*client.FleetModels, error) {
	models, err := repo.FleetModels(ctx, q)
	if err != nil || pickModel(models, name) {
		return models, err
	}
	totals, err := repo.FleetSummary(ctx, q)
	if err != nil {
		return nil, err
	}
	if silent := silentEdges(totals, len(q.Labels) > 0); silent != "" {
		return nil, failure{what: fmt.Sprintf("whether an Edge serves %q isn't known: %s", name, silent), next: "iop fleet status --trouble", exit: exitNotNow}
	}
	if models, err = repo.FleetModels(ctx, q); err != nil || pickModel(models, name) {
		return models, err
	}
	return nil, failure{what: fmt.Sprintf("no Edge serves %q", name), next: "iop fleet models", exit: exitNotFound}
}

// silentEdges says how many Edges haven't told what they serve now; empty: all have. A disconnected one serves nobody.
func silentEdges(s *client.FleetSummary, filtered bool) string {
	connected := s.Edges.Total - s.Edges.Disconnected
	switch silent := connected - s.Fresh.Edges; {
	case s.Edges.Total == 0:
		return noEdges(filtered)
	case connected == 0:
		return "no Edge is connected"
	case silent > 0:
		return fmt.Sprintf("of %s %d gave no answer", count(connected, "connected Edge"), silent)
	}
	return ""
}

// pickModel leaves only one model in a list, if it is there.
func pickModel(all *client.FleetModels, name string) (found bool) {
	all.Models = slices.DeleteFunc(all.Models, func(m *client.ModelCapacity) bool { return m.Model != name })
	return len(all.Models) > 0
}

func checkModels(models []*client.ModelCapacity, minFree uint64) error {
	if len(models) == 0 {
		return failure{what: "no Edge says that it serves a model", next: "iop fleet status", exit: exitDegraded}
	}
	for _, m := range models {
		if m.General.Free < minFree {
			return failure{what: fmt.Sprintf("%s: %d free is less than %d", clean(m.Model), m.General.Free, minFree), next: "iop fleet status", exit: exitDegraded}
		}
	}
	return nil
}

func modelsPage(p *page, models []*client.ModelCapacity, silent string) {
	switch {
	case len(models) > 0:
	case silent != "":
		p.say("No Edge says that it serves a model: %s.", silent)
	default:
		p.say("No Edge serves a model.")
	}
	rows := make([][]string, len(models))
	for i, m := range models {
		rows[i] = append([]string{clean(m.Model), number(m.Edges), fmt.Sprintf("%d/%d", m.ProvidersAvailable, m.Providers)}, capacityCells(m.General, m.LongContext, m.ProvidersAvailable)...)
	}
	p.grid(append([]column{{name: "MODEL"}, {name: "EDGES", right: true}, {name: "AVAILABLE", right: true}}, capacityColumns...), rows)
}
