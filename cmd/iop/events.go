package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) eventsCommand() *cobra.Command {
	var q eventsAsk
	c := &cobra.Command{
		Use:   "events [EDGE]",
		Short: "Show past events, and with --follow new ones as they come",
		Long: `Shows the newest events, of all Edges or of one. With --follow it then shows new events as they come, until Ctrl-C: a stream
that breaks is resumed after the last event, and a line says so where events are missing.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeEdge,
		Example: `  iop events
  iop events seoul-1 --limit 5
  iop events --follow
  iop events -f -o jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.edge = args[0]
			}
			if q.limit < 1 || q.limit > pageSize {
				return usage(cmd, "--limit %d is not 1 to %d", q.limit, pageSize)
			}
			if strings.ContainsFunc(q.after, notOfAnID) {
				return usage(cmd, "--after %q is no event's id; iop events -o wide shows ids", q.after)
			}
			repo, err := a.repository()
			if err != nil {
				return err
			}
			if q.follow {
				return a.followEvents(cmd.Context(), repo, q)
			}
			return a.listEvents(cmd.Context(), repo, q)
		},
	}
	c.Flags().BoolVarP(&q.follow, "follow", "f", false, "keep showing new events, until Ctrl-C")
	c.Flags().IntVar(&q.limit, "limit", 20, "how many, at most 1000; --follow with --after shows all")
	c.Flags().StringVar(&q.after, "after", "", "show the events after the one with this `id` instead of the newest")
	return c
}

// notOfAnID is true of what no event's id has in it. More can't be told of one: only the Control Plane reads them.
func notOfAnID(r rune) bool {
	return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", r)
}

// eventsAsk is what the command line asks for.
type eventsAsk struct {
	edge, after string
	limit       int
	follow      bool
}

func (q *eventsAsk) query() client.EventQuery {
	return client.EventQuery{EdgeID: q.edge, After: q.after, Limit: q.limit}
}

func (a *app) listEvents(ctx context.Context, repo *client.Repository, q eventsAsk) error {
	found, err := repo.Events(ctx, q.query())
	if err != nil {
		return err
	}
	lines := anys(found.Events)
	if found.Gap != nil {
		lines = append([]any{gapDoc{found.Gap}}, lines...)
	}
	return a.show(view{doc: found, lines: lines, table: func(p *page) { a.eventsPage(p, found, q.after != "", moreEvents(q, found)) }})
}

// moreEvents is the command for the events that a list behind an id may have had no room for; empty: there are none.
func moreEvents(q eventsAsk, found *client.EventPage) string {
	if q.after == "" || len(found.Events) < q.limit || found.Next == nil {
		return ""
	}
	command := "iop events "
	if q.edge != "" {
		command += q.edge + " "
	}
	return fmt.Sprintf("%s--limit %d --after %s", command, q.limit, clean(*found.Next))
}

// gapDoc is how a line of JSON says that events are missing.
type gapDoc struct {
	Gap *client.Gap `json:"gap"`
}

var eventColumns = []column{
	{name: "WHEN"}, {name: "KIND"}, {name: "EDGE"}, {name: "NODE"}, {name: "OPERATION", spare: 1}, {name: "OCCURRED", wide: true},
	{name: "ID", wide: true}, {name: "MESSAGE"},
}

func (a *app) eventsPage(p *page, found *client.EventPage, typed bool, more string) {
	var rows [][]string
	if found.Gap != nil { // a row, where the live stream has an event of this kind
		rows = append(rows, []string{unknown, "gap", unknown, unknown, unknown, unknown, unknown, gapText(found.Gap, typed)})
	}
	for _, e := range found.Events {
		occurred := unknown
		if e.OccurredAt != nil {
			occurred = moment(*e.OccurredAt)
		}
		rows = append(rows, []string{a.when(&e.At), clean(e.Kind), textOr(e.EdgeID), textOr(e.NodeID), textOr(e.OperationID), occurred, clean(e.ID), textOr(e.Message)})
	}
	p.grid(eventColumns, rows)
	if len(found.Events) == 0 {
		p.say("No events.")
	}
	if more != "" {
		p.say("There may be more: %s", more)
	}
}

// gapText says what is missing. A restart is sure only behind an id that came from the Control Plane; one that was typed may be none.
func gapText(g *client.Gap, typed bool) string {
	many := "events are missing, how many isn't known"
	if g.Dropped != nil {
		many = count(int(*g.Dropped), "event") + " missing"
	}
	switch {
	case g.Reason == client.Restarted && typed:
		return many + ": the id is not of this run of the Control Plane, or no event's"
	case g.Reason == client.Restarted:
		return many + ": the Control Plane was restarted"
	}
	return many + ": " + clean(string(g.Reason))
}

// gapLine stands in a stream, between the events before and behind it.
func gapLine(g *client.Gap, typed bool) string { return "-- " + gapText(g, typed) + " --" }

// followEvents shows the newest events and goes on behind them.
func (a *app) followEvents(ctx context.Context, repo *client.Repository, q eventsAsk) error {
	t := &tail{app: a, edge: q.edge, shown: map[string]bool{}, typed: q.after != ""}
	live, err := t.begin(ctx, repo, q)
	if err != nil {
		return err
	}
	lost := false
	live.Changed = func(err error, retryIn time.Duration) {
		switch {
		case err != nil:
			a.say("iop: %s; trying again in %s", a.explain(err).what, span(retryIn))
		case lost:
			a.say("iop: live again")
		}
		lost = err != nil
	}
	for u, err := range repo.Follow(ctx, live) {
		if err != nil {
			return err
		}
		if err := t.update(u); err != nil {
			return err
		}
	}
	return nil
}

// tail writes events as they come.
type tail struct {
	app   *app
	edge  string
	shown map[string]bool // ids that the list had and the stream may bring again
	typed bool            // nothing came yet after the id that was typed
}

// begin shows the list and gives where the stream goes on. The place in the fleet's events is taken before an Edge's own
// events are listed, so that none falls between; what comes twice is shown once.
//
// Behind an id the stream has all events as long as the fleet's ring has them. An Edge's own events may be kept for longer than that:
// only where the fleet's are gone are the Edge's listed, all of them.
func (t *tail) begin(ctx context.Context, repo *client.Repository, q eventsAsk) (live client.FollowQuery, err error) {
	if q.after != "" {
		whole, err := streamHasAll(ctx, repo, q)
		if err != nil || whole {
			return client.FollowQuery{After: q.after}, err
		}
	}
	var mark *client.EventPage
	if q.edge != "" {
		if mark, err = repo.Events(ctx, client.EventQuery{Limit: 1}); err != nil {
			return live, err
		}
	}
	ask := q.query()
	if q.after != "" {
		ask.Limit = pageSize
	}
	for whole := false; !whole; {
		found, err := repo.Events(ctx, ask)
		if err != nil {
			return live, err
		}
		if err := t.list(found); err != nil {
			return live, err
		}
		if mark == nil {
			mark = found
		}
		if whole = q.after == "" || len(found.Events) < ask.Limit; !whole {
			ask.After = *found.Next
		}
	}
	return behind(mark), nil
}

// streamHasAll tells whether the stream, asked for the events behind an id, brings all that are kept. Of one that has lost some an Edge's
// own ring may have more. An Edge that nobody knows is an error here; the stream would wait for it.
func streamHasAll(ctx context.Context, repo *client.Repository, q eventsAsk) (whole bool, err error) {
	if q.edge == "" {
		return true, nil
	}
	if _, err := repo.Events(ctx, client.EventQuery{EdgeID: q.edge, Limit: 1}); err != nil {
		return false, err
	}
	fleet, err := repo.Events(ctx, client.EventQuery{After: q.after, Limit: 1})
	return err == nil && fleet.Gap == nil, err
}

// behind is where a stream goes on behind a list. An empty list has no last event, but there may be one by now.
func behind(list *client.EventPage) client.FollowQuery {
	if list.Next == nil {
		return client.FollowQuery{FromStart: true}
	}
	return client.FollowQuery{After: *list.Next}
}

func (t *tail) list(found *client.EventPage) error {
	if err := t.update(client.Update{Gap: found.Gap}); err != nil {
		return err
	}
	for _, e := range found.Events {
		t.typed = false
		t.shown[e.ID] = true
		if err := t.write(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tail) update(u client.Update) error {
	typed := t.typed
	t.typed = typed && u.Gap == nil && u.Event == nil
	switch {
	case u.Gap != nil && t.app.format.isTable():
		_, err := fmt.Fprintln(t.app.stdout, gapLine(u.Gap, typed))
		return err
	case u.Gap != nil:
		return t.app.showNext(gapDoc{u.Gap})
	case u.Event == nil || t.edge != "" && (u.Event.EdgeID == nil || *u.Event.EdgeID != t.edge):
		return nil
	case t.shown[u.Event.ID]:
		delete(t.shown, u.Event.ID)
		return nil
	}
	return t.write(u.Event)
}

// write has columns of a fixed width, since what comes isn't known.
func (t *tail) write(e *client.Event) error {
	if !t.app.format.isTable() {
		return t.app.showNext(e)
	}
	_, err := fmt.Fprintln(t.app.stdout, t.app.eventLine(e))
	return err
}

func (a *app) eventLine(e *client.Event) string {
	where := textOr(e.EdgeID)
	if e.NodeID != nil {
		where += "/" + clean(*e.NodeID)
	}
	line := fmt.Sprintf("%s  %-18s  %-20s", a.clock(e.At), clean(e.Kind), where)
	if e.OperationID != nil {
		line += "  " + clean(*e.OperationID)
	}
	if e.Message != nil {
		line += "  " + clean(*e.Message)
	}
	return line
}
