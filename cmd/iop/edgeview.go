package main

import (
	"fmt"
	"strconv"
	"strings"

	"iop/client"
)

var edgeColumns = []column{
	{name: "EDGE"}, {name: "STATE", state: true}, {name: "WHY"}, {name: "SINCE", spare: 1}, {name: "LAST SEEN", spare: 2},
	{name: "SNAPSHOT", right: true, spare: 6}, {name: "TAKEOVERS", right: true, spare: 5}, {name: "CLOCK", right: true, spare: 7}, {name: "VERSION", spare: 4},
	{name: "CONNECTIONS", right: true, wide: true}, {name: "HEARTBEAT", right: true, wide: true}, {name: "INSTANCE", wide: true},
	{name: "NAME", wide: true}, {name: "LABELS", spare: 3},
}

func (a *app) edgeGrid(p *page, edges []*client.Edge) {
	rows := make([][]string, len(edges))
	for i, e := range edges {
		rows[i] = a.edgeRow(e)
	}
	p.grid(edgeColumns, rows)
}

func (a *app) edgeRow(e *client.Edge) []string {
	since := e.ConnectedAt
	if !e.Connected {
		since = e.DisconnectedAt
	}
	return []string{
		clean(e.EdgeID), string(e.State), edgeWhy(e), a.when(since), a.when(e.LastSeenAt), millis(e.SnapshotAgeMS),
		strconv.FormatUint(e.Takeovers, 10), millis(e.ClockSkewMS), textOr(e.Version),
		strconv.FormatUint(e.Connections, 10), millis(&e.HeartbeatIntervalMS), textOr(e.InstanceID),
		textOr(e.Name), pairs(e.Labels),
	}
}

// edgeWhy is why an Edge isn't all right, in short.
func edgeWhy(e *client.Edge) string {
	var why []string
	if e.Conflict {
		why = append(why, "conflict")
	}
	switch {
	case e.State == client.Stale:
		why = append(why, "silent")
	case !e.Connected:
		why = append(why, textOr(e.DisconnectReason))
	}
	if len(why) == 0 {
		return unknown
	}
	return strings.Join(why, ", ")
}

func (a *app) edgeDetails(e *client.Edge) [][2]string {
	conflict := "no"
	if e.Conflict {
		conflict = "yes: two instances use this id; iop events " + clean(e.EdgeID) + " --limit 1000 | grep edge_conflict names them"
	}
	runs := list(e.Operations)
	if len(e.Operations) == 0 {
		runs = "- (it doesn't say)"
	}
	return [][2]string{
		{"edge", clean(e.EdgeID)},
		{"name", textOr(e.Name)},
		{"state", string(e.State)},
		{"connected", a.when(e.ConnectedAt)},
		{"last seen", a.when(e.LastSeenAt)},
		{"disconnected", a.lastEnd(e)},
		{"connections", fmt.Sprintf("%d, of them %s", e.Connections, count(e.Takeovers, "takeover"))},
		{"conflict", conflict},
		{"heartbeat", "every " + millis(&e.HeartbeatIntervalMS)},
		{"clock", skewText(e.ClockSkewMS)},
		{"snapshot", snapshotAge(e.SnapshotAgeMS)},
		{"version", textOr(e.Version)},
		{"instance", textOr(e.InstanceID)},
		{"labels", pairs(e.Labels)},
		{"operations", runs},
	}
}

// lastEnd is how a connection last ended; an Edge that is connected may have had one that did.
func (a *app) lastEnd(e *client.Edge) string {
	if e.DisconnectedAt == nil {
		return unknown
	}
	return a.when(e.DisconnectedAt) + ", " + textOr(e.DisconnectReason)
}

func snapshotAge(ms *int64) string {
	if ms == nil {
		return "- (none yet)"
	}
	return millis(ms) + " old"
}

func stateCounts(n client.EdgeCounts) string {
	return fmt.Sprintf("%d connected, %d stale, %d disconnected", n.Connected, n.Stale, n.Disconnected)
}

// skewText is another clock minus the one that it is compared with.
func skewText(ms *int64) string {
	switch {
	case ms == nil:
		return unknown
	case *ms < 0:
		behind := -*ms
		return millis(&behind) + " behind"
	}
	return millis(ms) + " ahead"
}
