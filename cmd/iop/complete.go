package main

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"iop/client"
)

// completionTime is how long a shell waits for a Tab.
const completionTime = time.Second

// completeEdge completes an Edge as the first argument.
func (a *app) completeEdge(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, done
	}
	repo, err := a.repository()
	if err != nil {
		return nil, done
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	found, err := repo.Edges(ctx, client.EdgeQuery{Prefix: begun, Limit: pageSize})
	if err != nil || found.NextCursor != nil { // from a part of them a shell would complete what only that part has in common
		return nil, done
	}
	var ids []string
	for _, e := range found.Edges {
		ids = append(ids, e.EdgeID)
	}
	return ids, done
}

// completeRun completes an Edge, and then what it runs.
func (a *app) completeRun(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeEdge(cmd, args, begun)
	}
	const done = cobra.ShellCompDirectiveNoFileComp
	repo, err := a.repository()
	if err != nil {
		return nil, done
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	e, err := repo.Edge(ctx, args[0])
	if err != nil {
		return nil, done
	}
	return slices.DeleteFunc(e.Operations, func(name string) bool { return !isWord(name) }), done
}

// isWord is true of a name that a shell takes for nothing else. Cobra reads a tab, a line's end and the beginning "_activeHelp_ " as
// something to say to the user, and the names come from Edges.
func isWord(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-:/", r)
	})
}

func (a *app) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	contexts, err := a.loadContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, x := range contexts.Contexts {
		names = append(names, x.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
