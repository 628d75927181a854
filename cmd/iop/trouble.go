package main

import (
	"fmt"
	"slices"
	"strings"

	"iop/client"
)

// trouble says what isn't all right with an Edge, worst first; nil where all is. Each of e, s and known may be nil: not known.
func (a *app) trouble(e *client.Edge, s *client.Status, fault client.Code, known orders) []string {
	var all []string
	if e != nil {
		all = a.edgeTrouble(e)
	}
	if fault != "" && !(fault == client.EdgeDisconnected && e != nil && !e.Connected) {
		all = append(all, faultText(fault))
	}
	if s != nil {
		all = append(all, a.siteTrouble(s.Nodes, known)...)
	}
	return all
}

func (a *app) edgeTrouble(e *client.Edge) []string {
	var all []string
	if e.Conflict {
		all = append(all, "two instances use this id")
	}
	switch {
	case !e.Connected && e.DisconnectedAt == nil:
		all = append(all, "disconnected")
	case !e.Connected:
		all = append(all, "gone "+a.when(e.DisconnectedAt)+": "+reasonText(e.DisconnectReason))
	case e.State == client.Stale:
		all = append(all, "silent since "+a.when(e.LastSeenAt))
	}
	return all
}

// reasons are what the registry's words mean to people.
var reasons = map[string]string{
	"goodbye":           "stopped on purpose",
	"connection_closed": "its connection was closed without a goodbye",
	"heartbeat_timeout": "its link died without a word",
	"protocol_error":    "it broke the protocol",
	"write_timeout":     "it did not read: it hangs",
	"shutdown":          "the Control Plane stopped",
	"removed":           "it was removed",
}

func reasonText(reason *string) string {
	if reason == nil {
		return "nobody knows why"
	}
	if text, ok := reasons[*reason]; ok {
		return text
	}
	return clean(*reason)
}

var faults = map[client.Code]string{
	client.EdgeTimeout:      "did not answer in time",
	client.EdgeDisconnected: "has no connection",
	client.EdgeBusy:         "has too many requests unanswered",
	client.EdgeError:        "answered with an error",
}

func faultText(code client.Code) string {
	if text, ok := faults[code]; ok {
		return text
	}
	return clean(string(code))
}

// siteTrouble is of nodes and providers. A node that isn't connected, or is drained, counts as one trouble, not as one for each
// provider.
func (a *app) siteTrouble(nodes []*client.Node, known orders) []string {
	var all []string
	for _, n := range nodes {
		if !n.Connected {
			all = append(all, "node "+clean(n.NodeID)+" is down")
			continue
		}
		drain := known[place{node: n.NodeID}]
		if drain != nil && slices.ContainsFunc(n.Providers, isClosed) {
			all = append(all, fmt.Sprintf("node %s is drained (%s)", clean(n.NodeID), a.orderText(drain)))
		}
		for _, p := range n.Providers {
			if drain != nil && isClosed(p) {
				continue // said of the node
			}
			if word := a.providerTrouble(p, known[place{n.NodeID, p.ProviderID}]); word != "" {
				all = append(all, fmt.Sprintf("%s/%s is %s", clean(n.NodeID), clean(p.ProviderID), word))
			}
		}
	}
	return all
}

// unspecified is the lack of a word.
const unspecified = "unspecified"

// providerTrouble is empty only for one that says it serves, also if it is busy.
func (a *app) providerTrouble(p *client.Provider, disabled *client.Operation) string {
	switch {
	case p.Health == client.Degraded || p.Health == client.Offline:
		return string(p.Health)
	case isClosed(p) && disabled != nil:
		return "disabled (" + a.orderText(disabled) + ")"
	case isClosed(p):
		return "unavailable, but online: drained or disabled"
	case p.Status == client.Unavailable:
		return string(p.Status)
	case p.Status == client.Available || p.Status == client.Busy:
		return ""
	case p.Status != unspecified: // a newer Control Plane's word
		return "in an unknown state: " + clean(string(p.Status))
	case p.Health == client.Online:
		return "online, but whether it takes requests isn't known"
	}
	return "in an unknown state"
}

const mostTrouble = 3

// inShort is trouble in one cell.
func inShort(trouble []string, all bool) string {
	switch n := len(trouble); {
	case n == 0:
		return unknown
	case n > mostTrouble && !all:
		return strings.Join(trouble[:mostTrouble], "; ") + fmt.Sprintf("; and %d more", n-mostTrouble)
	}
	return strings.Join(trouble, "; ")
}
