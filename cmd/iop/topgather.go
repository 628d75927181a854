package main

import (
	"context"
	"time"

	"iop/client"
)

const (
	// topAge is how old a snapshot may be for the screen: however old. An Edge says by itself what changes, so that what it said
	// last holds while it is connected; asking thousands that are quiet, again and again, would be felt.
	topAge = 365 * 24 * time.Hour
	// topPatience is for Edges that never said anything. It is short: one that hangs would hold up every look.
	topPatience = time.Second
	// mostGone bounds the Edges that are fetched to tell why they are gone or silent.
	mostGone = 100
)

// topLook is what one look found.
type topLook struct {
	at      time.Time
	summary *client.FleetSummary
	page    *client.FleetStatus
	first   bool // the page is a sweep's first
	last    bool // or its last
	silent  []*client.Edge
	more    map[client.State]int // how many more are gone or silent than silent has room for
	err     error
}

// topGatherer asks for what the screen shows: each time the totals and the troubled Edges of the registry, and one page of the
// fleet, so that a large one costs no more a look than a small one.
type topGatherer struct {
	repo   *client.Repository
	cursor string
}

func (g *topGatherer) run(ctx context.Context, every time.Duration, looks chan<- topLook) error {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		look := g.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		select {
		case looks <- look:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (g *topGatherer) look(ctx context.Context) (look topLook) {
	age := topAge // its address is needed
	q := client.FleetQuery{MaxAge: &age, Timeout: topPatience, Limit: pageSize, Cursor: g.cursor}
	look.first = g.cursor == ""
	if look.page, look.err = g.repo.FleetStatus(ctx, q); look.err != nil {
		g.cursor = "" // it may be the cursor
		return look
	}
	look.summary = &look.page.FleetSummary // totals are over all, whatever the page
	look.more = map[client.State]int{}
	for _, state := range []client.State{client.Disconnected, client.Stale} {
		found, err := g.repo.Edges(ctx, client.EdgeQuery{State: state, Limit: mostGone})
		if err != nil {
			look.err = err
			return look
		}
		look.silent = append(look.silent, found.Edges...)
		look.more[state] = found.Total - len(found.Edges)
	}
	g.cursor = "" // only now: a look that failed is thrown away, and its page comes again
	if next := look.page.NextCursor; next != nil {
		g.cursor = *next
	}
	look.last = g.cursor == ""
	look.at = g.repo.Now()
	return look
}
