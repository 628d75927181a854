package main

import (
	"context"
	"maps"
	"strings"

	"iop/client"
)

// orders are commands that took a node, or one provider of it, out of service. An Edge tells that something is unavailable though it
// is online, and not why; the Control Plane has a record of who asked for what.
type orders map[place]*client.Operation

// place is a node or, with a provider, that one alone.
type place struct{ node, provider string }

// closing are the operations of iop-edge that take out of service (true) and put back (false).
var closing = map[string]bool{"node.drain": true, "node.resume": false, "provider.disable": true, "provider.enable": false}

// mostAsked bounds the Edges whose records are asked for. Of further ones it is shown what is out of service, and not by which order.
const mostAsked = 100

// ordersOf asks for an Edge's orders.
func ordersOf(ctx context.Context, repo *client.Repository, edgeID string) (orders, error) {
	found, err := repo.Operations(ctx, client.OperationQuery{EdgeID: edgeID, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return inForce(found.Operations), nil
}

// inForce gives the orders of an Edge that no later one undoes. The records are newest first.
func inForce(records []*client.Operation) orders {
	newest := orders{}
	for _, o := range records {
		if _, is := closing[o.Operation]; !is || o.NodeID == nil || !mayHaveRun(o) {
			continue
		}
		at := place{node: *o.NodeID}
		if strings.HasPrefix(o.Operation, "provider.") {
			at.provider, _ = o.Parameters["provider_id"].(string)
		}
		if newest[at] == nil {
			newest[at] = o
		}
	}
	maps.DeleteFunc(newest, func(_ place, o *client.Operation) bool { return !closing[o.Operation] })
	return newest
}

// mayHaveRun is true of a drain that failed, too: the node stays drained when its deadline ends the waiting.
func mayHaveRun(o *client.Operation) bool {
	return o.State != client.Pending && o.State != client.Rejected && o.State != client.Expired
}

// orderText says which order it was, as it is on record.
func (a *app) orderText(o *client.Operation) string {
	text := clean(o.Operation) + " " + string(o.State)
	if o.FinishedAt != nil {
		text += " " + a.when(o.FinishedAt)
	} else {
		text += ", asked for " + a.when(&o.CreatedAt)
	}
	if o.RequestedBy != nil {
		text += " by " + clean(*o.RequestedBy)
	}
	if o.Reason != nil {
		text += ": " + clean(*o.Reason)
	}
	return text
}

// isClosed is true of a provider that would serve and isn't to: by docs/edge.md this is how drained and disabled ones look.
func isClosed(p *client.Provider) bool {
	return p.Status == client.Unavailable && p.Health == client.Online
}

func hasClosed(nodes []*client.Node) bool {
	for _, n := range nodes {
		for _, p := range n.Providers {
			if n.Connected && isClosed(p) {
				return true
			}
		}
	}
	return false
}
