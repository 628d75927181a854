package main

import (
	"context"

	"github.com/spf13/cobra"

	"iop/client"
)

// pageSize is how many are asked for at once where all are wanted.
const pageSize = 1000

func (a *app) edgesCommand() *cobra.Command {
	c := &cobra.Command{Use: "edges", Short: "The registry: who is connected", Example: "  iop edges ls\n  iop edges get seoul-1"}
	c.AddCommand(a.edgesLs(), a.edgesGet(), a.edgesWatch())
	return c
}

// edgeFilter are the flags that pick Edges.
type edgeFilter struct {
	state  choice
	labels labelFlag
	prefix string
}

func (f *edgeFilter) register(c *cobra.Command) {
	f.state.allowed = edgeStates
	c.Flags().Var(&f.state, "state", "only Edges in this state")
	c.Flags().VarP(&f.labels, "label", "l", "only Edges with this label; may be repeated, and then all must match")
	c.Flags().StringVar(&f.prefix, "prefix", "", "only Edges whose id begins with this `text`")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(edgeStates, cobra.ShellCompDirectiveNoFileComp))
}

func (f *edgeFilter) query() client.EdgeQuery {
	return client.EdgeQuery{State: client.State(f.state.value), Labels: f.labels, Prefix: f.prefix, Limit: pageSize}
}

func (f *edgeFilter) any() bool { return f.state.value != "" || len(f.labels) > 0 || f.prefix != "" }

func (a *app) edgesLs() *cobra.Command {
	var filter edgeFilter
	c := &cobra.Command{
		Use:        "ls",
		SuggestFor: []string{"list"},
		Short:      "List the Edges, including those that have disconnected",
		Args:       cobra.NoArgs,
		Example: `  iop edges ls
  iop edges ls --state disconnected
  iop edges ls --label region=kr-south -o wide`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			found, err := allEdges(cmd.Context(), repo, filter.query())
			if err != nil {
				return err
			}
			return a.show(view{doc: found, lines: anys(found.Edges), table: func(p *page) {
				a.edgeGrid(p, found.Edges)
				p.say("%s", edgeTotals(found.EdgeCounts, filter.any()))
			}})
		},
	}
	filter.register(c)
	return c
}

// allEdges is one page with all that match; the counts are those of the first.
func allEdges(ctx context.Context, repo *client.Repository, q client.EdgeQuery) (*client.EdgePage, error) {
	all, err := repo.Edges(ctx, q)
	if err != nil || all.NextCursor == nil {
		return all, err
	}
	q.Cursor, all.NextCursor = *all.NextCursor, nil
	for e, err := range repo.AllEdges(ctx, q) {
		if err != nil {
			return nil, err
		}
		all.Edges = append(all.Edges, e)
	}
	return all, nil
}

func edgeTotals(n client.EdgeCounts, filtered bool) string {
	if n.Total == 0 {
		return noEdges(filtered)
	}
	return count(n.Total, "Edge") + ": " + stateCounts(n)
}

// noEdges says why there is nobody, which no filter is to blame for where there is none.
func noEdges(filtered bool) string {
	if filtered {
		return "no Edges match"
	}
	return "no Edge is known: none has connected since the Control Plane was started, or all were forgotten"
}

func (a *app) edgesGet() *cobra.Command {
	return &cobra.Command{
		Use:               "get EDGE",
		Short:             "Show what is known of one Edge",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeEdge,
		Example: `  iop edges get seoul-1
  iop edges get seoul-1 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			e, err := repo.Edge(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(view{doc: e, table: func(p *page) { p.details(a.edgeDetails(e)) }})
		},
	}
}
