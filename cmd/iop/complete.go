package main

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iop/client"
)

// completionTime is how long a shell waits for a Tab.
var completionTime = time.Second

// offer is what a shell offers, asked for in the time that it waits; nothing if it can't be had, and never files instead.
func (a *app) offer(cmd *cobra.Command, ask func(context.Context, *client.Repository) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	repo, err := a.repository()
	if err != nil {
		return nil, done
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	words, err := ask(ctx, repo)
	if err != nil {
		return nil, done
	}
	return slices.DeleteFunc(words, func(word string) bool { return !isWord(word) }), done
}

// completeEdge completes an Edge as the first argument.
func (a *app) completeEdge(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return cobra.NoFileCompletions(cmd, args, begun)
	}
	return a.offer(cmd, func(ctx context.Context, repo *client.Repository) (ids []string, _ error) {
		found, err := repo.Edges(ctx, client.EdgeQuery{Prefix: begun, Limit: pageSize})
		if err != nil || found.NextCursor != nil { // from a part of them a shell would complete what only that part has in common
			return nil, err
		}
		for _, e := range found.Edges {
			ids = append(ids, e.EdgeID)
		}
		return ids, nil
	})
}

// completeRun completes an Edge, and then what it runs.
func (a *app) completeRun(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeEdge(cmd, args, begun)
	}
	return a.offer(cmd, func(ctx context.Context, repo *client.Repository) ([]string, error) {
		e, err := repo.Edge(ctx, args[0])
		if err != nil {
			return nil, err
		}
		return e.Operations, nil
	})
}

// completeNode completes a node of the Edge that is the first argument, from what it said last.
func (a *app) completeNode(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return cobra.NoFileCompletions(cmd, args, begun)
	}
	return a.offer(cmd, func(ctx context.Context, repo *client.Repository) (ids []string, _ error) {
		age := time.Hour
		s, err := repo.Status(ctx, args[0], client.StatusQuery{MaxAge: &age})
		if err != nil {
			return nil, err
		}
		for _, n := range s.Nodes {
			ids = append(ids, n.NodeID)
		}
		return ids, nil
	})
}

// completeModel completes a model as the only argument.
func (a *app) completeModel(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return cobra.NoFileCompletions(cmd, args, begun)
	}
	return a.offer(cmd, func(ctx context.Context, repo *client.Repository) (names []string, _ error) {
		age := time.Hour
		models, err := repo.FleetModels(ctx, client.FleetQuery{MaxAge: &age, Timeout: completionTime / 2})
		if err != nil {
			return nil, err
		}
		for _, m := range models.Models {
			names = append(names, m.Model)
		}
		return names, nil
	})
}

// mostCompleted bounds the commands that are offered: the newest.
const mostCompleted = 20

// completeOperation completes an Edge, and then the id of one of its commands.
func (a *app) completeOperation(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.completeEdge(cmd, args, begun)
	}
	return a.offer(cmd, func(ctx context.Context, repo *client.Repository) (ids []string, _ error) {
		found, err := repo.Operations(ctx, client.OperationQuery{EdgeID: args[0], Limit: mostCompleted})
		if err != nil {
			return nil, err
		}
		for _, o := range found.Operations {
			ids = append(ids, o.OperationID)
		}
		return ids, nil
	})
}

// completeNoFiles keeps a shell from offering files where none are meant.
func completeNoFiles(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, completed := c.GetFlagCompletionFunc(f.Name); !completed && !strings.HasSuffix(f.Name, "file") {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions)
		}
	})
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
