package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) opsCommand() *cobra.Command {
	c := &cobra.Command{Use: "ops", Short: "The record of commands: who had what run, and what became of it",
		Example: "  iop ops ls\n  iop ops ls seoul-1"}
	c.AddCommand(a.opsLs(), a.opsGet())
	return c
}

func (a *app) opsLs() *cobra.Command {
	q := client.OperationQuery{Limit: 20}
	state := choice{allowed: operationStates}
	c := &cobra.Command{
		Use:               "ls [EDGE]",
		SuggestFor:        []string{"list"},
		Short:             "List commands, newest first",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeEdge,
		Example: `  iop ops ls
  iop ops ls seoul-1 --state succeeded
  iop ops ls --limit 5 -o wide`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.EdgeID = args[0]
			}
			if q.Limit < 1 {
				return usage(cmd, "--limit %d is not 1 or more", q.Limit)
			}
			q.State = client.OperationState(state.value)
			repo, err := a.repository()
			if err != nil {
				return err
			}
			found, err := newestOperations(cmd.Context(), repo, q)
			if err != nil {
				return err
			}
			return a.show(view{doc: found, lines: anys(found.Operations), table: func(p *page) { a.operationsPage(p, found) }})
		},
	}
	c.Flags().Var(&state, "state", "only operations in this state")
	c.Flags().IntVar(&q.Limit, "limit", q.Limit, "how many")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(operationStates, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// newestOperations is one page of q.Limit records, however few the Control Plane gives at once.
func newestOperations(ctx context.Context, repo *client.Repository, q client.OperationQuery) (*client.OperationPage, error) {
	want := q.Limit
	q.Limit = min(want, pageSize)
	found, err := repo.Operations(ctx, q)
	for err == nil && len(found.Operations) < want && found.NextCursor != nil {
		q.Cursor, q.Limit = *found.NextCursor, min(want-len(found.Operations), pageSize)
		var more *client.OperationPage
		if more, err = repo.Operations(ctx, q); err == nil {
			found.Operations, found.NextCursor = append(found.Operations, more.Operations...), more.NextCursor
		}
	}
	return found, err
}

var operationColumns = []column{
	{name: "CREATED"}, {name: "EDGE"}, {name: "NODE", spare: 1}, {name: "OPERATION"}, {name: "STATE", state: true}, {name: "TOOK", right: true, spare: 2},
	{name: "BY", spare: 3}, {name: "ID"}, {name: "REASON", wide: true}, {name: "MESSAGE"},
}

func (a *app) operationsPage(p *page, found *client.OperationPage) {
	if len(found.Operations) == 0 {
		p.say("No commands.")
	}
	rows := make([][]string, len(found.Operations))
	for i, o := range found.Operations {
		rows[i] = []string{a.when(&o.CreatedAt), clean(o.EdgeID), textOr(o.NodeID), clean(o.Operation), string(o.State), took(o),
			textOr(o.RequestedBy), clean(o.OperationID), textOr(o.Reason), textOr(o.Message)}
	}
	p.grid(operationColumns, rows)
	if found.NextCursor != nil {
		p.say("There are more; --limit N shows them.")
	}
	if found.Dropped > 0 {
		p.say("%d older records were forgotten for want of room.", found.Dropped)
	}
}

// took is how long a command ran, which isn't known before its end.
func took(o *client.Operation) string {
	if o.FinishedAt == nil {
		return unknown
	}
	return span(o.FinishedAt.Sub(o.CreatedAt))
}

func (a *app) opsGet() *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use:               "get EDGE OPERATION_ID",
		Short:             "Show one command and its steps",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeOperation,
		Example: `  iop ops get seoul-1 $OPERATION_ID
  iop ops get seoul-1 $OPERATION_ID --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			o, err := repo.Operation(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			if wait {
				return a.waitFor(cmd.Context(), repo, o)
			}
			return a.showOperation(o)
		},
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait until it is done; the exit code is its outcome's")
	return c
}

func (a *app) showOperation(o *client.Operation) error {
	return a.show(view{doc: o, table: func(p *page) { a.operationPage(p, o) }})
}

func (a *app) operationPage(p *page, o *client.Operation) {
	details := [][2]string{
		{"id", clean(o.OperationID)},
		{"edge", clean(o.EdgeID)},
		{"node", textOr(o.NodeID)},
		{"operation", clean(o.Operation)},
		{"state", string(o.State)},
		{"message", textOr(o.Message)},
		{"created", a.when(&o.CreatedAt)},
		{"sent", a.when(o.SentAt)},
		{"answered", a.when(o.RespondedAt)},
		{"finished", a.when(o.FinishedAt)},
		{"took", took(o)},
		{"by", textOr(o.RequestedBy)},
		{"reason", textOr(o.Reason)},
		{"request", clean(o.RequestID)},
	}
	p.details(append(append(details, object("parameters", o.Parameters)), object("result", o.Result)))
	if o.EventsDropped > 0 {
		p.say("%d earlier steps were forgotten.", o.EventsDropped)
	}
	if len(o.Events) == 0 {
		return
	}
	p.blank()
	rows := make([][]string, len(o.Events))
	for i, e := range o.Events {
		rows[i] = []string{a.when(&e.ReceivedAt), clean(e.Phase), percent(e.ProgressPercent), textOr(e.Message)}
	}
	p.grid([]column{{name: "WHEN"}, {name: "STEP"}, {name: "DONE", right: true}, {name: "MESSAGE"}}, rows)
}

func object(name string, members map[string]any) [2]string {
	if members == nil {
		return [2]string{name, unknown}
	}
	text, err := encodeJSON(members, "")
	if err != nil {
		return [2]string{name, unknown}
	}
	return [2]string{name, clean(strings.TrimSpace(string(text)))}
}

func percent(p *uint32) string {
	if p == nil {
		return unknown
	}
	return fmt.Sprintf("%d%%", *p)
}
