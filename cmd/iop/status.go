package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) statusCommand() *cobra.Command {
	var timeout time.Duration
	var maxAge ageFlag
	var check bool
	c := &cobra.Command{
		Use:   "status EDGE",
		Short: "Ask an Edge for its nodes and providers",
		Long: `Asks an Edge for its nodes and providers, now. With --max-age a snapshot that is at most this old answers at once, even
if the Edge is disconnected; the output then says how old it is.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeEdge,
		Example: `  iop status seoul-1
  iop status seoul-1 --max-age 24h
  iop status seoul-1 --check`,
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := a.repository()
			if err != nil {
				return err
			}
			s, err := repo.Status(cmd.Context(), args[0], client.StatusQuery{Timeout: timeout, MaxAge: maxAge.given})
			if err != nil {
				return err
			}
			var known orders
			if hasClosed(s.Nodes) {
				known, _ = ordersOf(cmd.Context(), repo, s.EdgeID) // they only explain what is shown without them, too
			}
			trouble := a.siteTrouble(s.Nodes, known)
			said := trouble
			if check { // whose error says it
				said = nil
			}
			if err := a.show(view{doc: s, table: func(p *page) { a.statusPage(p, s, said) }}); err != nil {
				return err
			}
			if check {
				return checkStatus(s, trouble)
			}
			return nil
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long the Edge has to answer, at most 30s (default 2s)")
	c.Flags().Var(&maxAge, "max-age", "answer at once with a snapshot that is at most this old")
	c.Flags().BoolVar(&check, "check", false, "exit with 3 if a node or provider is in trouble, or the Edge is disconnected")
	return c
}

// checkStatus is an error where an Edge isn't all right.
func checkStatus(s *client.Status, trouble []string) error {
	if !s.Connected {
		trouble = append([]string{"the Edge is gone; this is its last known status"}, trouble...)
	}
	if len(trouble) == 0 {
		return nil
	}
	return failure{what: s.EdgeID + ": " + inShort(trouble, true), next: "iop events " + s.EdgeID, exit: exitDegraded}
}

var statusColumns = []column{
	{name: "NODE"}, {name: "PROVIDER"}, {name: "TYPE", spare: 2}, {name: "STATUS", state: true}, {name: "HEALTH", state: true},
	{name: "IN FLIGHT", right: true}, {name: "CAPACITY", right: true}, {name: "QUEUED", right: true},
	{name: "LONG IN FLIGHT", right: true, wide: true}, {name: "LONG CAPACITY", right: true, wide: true}, {name: "LONG QUEUED", right: true, wide: true},
	{name: "MODELS", spare: 1}, {name: "NODE NAME", wide: true}, {name: "NODE LABELS", wide: true},
}

func (a *app) statusPage(p *page, s *client.Status, trouble []string) {
	var rows [][]string
	for _, n := range s.Nodes {
		rows = append(rows, nodeRows(n)...)
	}
	p.grid(statusColumns, rows)
	if len(rows) == 0 {
		p.say("%s has no nodes.", clean(s.EdgeID))
	}
	p.say("%s", a.statusWorth(s))
	for _, what := range trouble {
		p.say("%s", what)
	}
}

// statusWorth says what the table is worth.
func (a *app) statusWorth(s *client.Status) string {
	switch {
	case !s.Connected:
		return fmt.Sprintf("%s is not connected: this is its last known status, from %s", clean(s.EdgeID), a.when(&s.ReceivedAt))
	case s.Source == client.Live:
		return fmt.Sprintf("%s answered now", clean(s.EdgeID))
	}
	return fmt.Sprintf("%s said this %s", clean(s.EdgeID), a.when(&s.ReceivedAt))
}

func nodeRows(n *client.Node) [][]string {
	if len(n.Providers) == 0 {
		state := "no providers"
		if !n.Connected {
			state = "offline"
		}
		return [][]string{{clean(n.NodeID), unknown, unknown, state, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, textOr(n.Name), pairs(n.Labels)}}
	}
	rows := make([][]string, len(n.Providers))
	for i, p := range n.Providers {
		rows[i] = append([]string{clean(n.NodeID), clean(p.ProviderID), textOr(p.Type), clean(string(p.Status)), clean(string(p.Health))}, providerNumbers(n, p)...)
		rows[i] = append(rows[i], list(p.Models), textOr(n.Name), pairs(n.Labels))
	}
	return rows
}

// providerNumbers are not known of a provider whose node is down, or whose Edge couldn't read them: what is sent then is no measurement.
func providerNumbers(n *client.Node, p *client.Provider) []string {
	if !n.Connected || p.Status == unspecified {
		return []string{unknown, unknown, unknown, unknown, unknown, unknown}
	}
	general, long := p.General, p.LongContext
	return []string{number(general.InFlight), roomCell(general.Capacity, general.Capacity, p.Health != client.Offline), number(general.Queued),
		number(long.InFlight), number(long.Capacity), number(long.Queued)}
}

// roomCell is a general capacity, or what is free of it. Where something serves, a capacity of 0 isn't known; one of long context is
// really none.
func roomCell(n, capacity uint64, serves bool) string {
	if capacity == 0 && serves {
		return unknown
	}
	return number(n)
}

func number[N int | uint64](n N) string { return strconv.FormatUint(uint64(n), 10) }
