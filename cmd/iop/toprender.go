package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"iop/client"
)

// painter draws a picture as lines, none wider than width, at most height of them.
type painter struct {
	width, height int
	color         bool
	still         bool // nobody can press a key
}

const (
	bold   = "1"
	dim    = "2"
	green  = "32"
	yellow = "33"
	red    = "31"
	title  = "1;7"
)

func (p *painter) ink(sgr, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (p *painter) render(pic *topPicture) []string {
	lines := []string{p.titleLine(pic)}
	if pic.problem != "" {
		lines = append(lines, p.ink(red, "! "+pic.problem))
	}
	if pic.summary == nil {
		if pic.problem == "" {
			lines = append(lines, "Looking ...")
		}
		return p.cut(lines)
	}
	lines = append(lines, p.totals(pic.summary)...)
	if pic.summary.Edges.Total == 0 {
		lines = append(lines, "", noEdges(false))
	}
	troubled, busiest, tail := share(p.height-len(lines), len(pic.trouble), len(pic.busiest), len(pic.tail))
	lines = append(lines, p.troubleLines(pic, troubled)...)
	lines = append(lines, p.busyLines(pic, busiest)...)
	lines = append(lines, p.tailLines(pic, tail)...)
	return p.cut(lines)
}

// cut keeps lines inside the screen.
func (p *painter) cut(lines []string) []string {
	lines = lines[:min(len(lines), p.height)]
	for i, line := range lines {
		lines[i] = strings.TrimRight(text.Snip(line, p.width, "…"), " ")
	}
	return lines
}

// share divides the lines below the totals: each part has a blank line and a heading, and gets a third; what one doesn't need
// the next one may have. Each gives its rows; a part without rows isn't shown.
func share(lines, trouble, busiest, tail int) (t, b, e int) {
	const head = 2
	part := func(want, most int) int {
		got := min(want, most-head)
		if got <= 0 {
			return 0
		}
		lines -= got + head
		return got
	}
	t = part(trouble, lines/3)
	b = part(busiest, (lines+1)/2)
	e = part(tail, lines)
	if b < busiest && lines > 0 { // the events left some
		more := min(busiest-b, lines)
		if b > 0 {
			b += more
		}
	}
	return t, b, e
}

func (p *painter) titleLine(pic *topPicture) string {
	left := " iop top  " + pic.address
	right := pic.clock + " "
	if !p.still {
		right = pic.clock + "  q quits "
	}
	if old := pic.now.Sub(pic.at); pic.summary != nil && old > 10*time.Second {
		right = "looked " + ago(old) + "  " + right
	}
	gap := p.width - text.StringWidth(left) - text.StringWidth(right)
	if gap < 1 {
		return p.ink(title, text.Pad(text.Snip(left, p.width, "…"), p.width, ' '))
	}
	return p.ink(title, left+strings.Repeat(" ", gap)+right)
}

func (p *painter) totals(s *client.FleetSummary) []string {
	n := s.Edges
	edges := fmt.Sprintf("Edges      %6d   ", n.Total) + p.ink(green, fmt.Sprintf("%d connected", n.Connected))
	edges += p.counted(yellow, n.Stale, "stale") + p.counted(red, n.Disconnected, "disconnected") + p.counted(red, s.Unanswered, "unanswered")
	f := s.Fresh
	site := fmt.Sprintf("Nodes      %6d   %d up   Providers %d   %d available",
		f.Nodes, f.NodesConnected, f.Providers, f.ProvidersAvailable)
	return []string{edges, site, p.capacityLine("General", f.General, f.ProvidersAvailable > 0), p.capacityLine("Long", f.LongContext, false)}
}

// counted is a number that stands out where it isn't 0.
func (p *painter) counted(sgr string, n int, what string) string {
	counted := fmt.Sprintf("%d %s", n, what)
	if n > 0 {
		counted = p.ink(sgr, counted)
	}
	return "   " + counted
}

func (p *painter) capacityLine(name string, c client.Capacity, serves bool) string {
	line := fmt.Sprintf("%-10s %6d / %-6s %4s   %d queued   %s free", name, c.InFlight, roomCell(c.Capacity, c.Capacity, serves), loadText(c.Counters),
		c.Queued, roomCell(c.Free, c.Capacity, serves))
	const textWidth, longest, shortest = 60, 30, 5
	if room := min(p.width-textWidth, longest); room >= shortest && c.Capacity > 0 {
		line = text.Pad(line, textWidth, ' ') + p.bar(c.Counters, room)
	}
	return line
}

// loadText is unknown where there is no capacity: nothing of nothing is no load.
func loadText(c client.Counters) string {
	if c.Capacity == 0 {
		return unknown
	}
	return fmt.Sprintf("%.0f%%", 100*load(c))
}

// bar shows a load; its colour says how near the end it is.
func (p *painter) bar(c client.Counters, width int) string {
	full := int(load(c)*float64(width) + 0.5)
	sgr := green
	switch l := load(c); {
	case c.Queued > 0 || l >= 0.95:
		sgr = red
	case l >= 0.75:
		sgr = yellow
	}
	return p.ink(sgr, strings.Repeat("█", full)) + p.ink(dim, strings.Repeat("░", width-full))
}

func (p *painter) heading(s string) []string { return []string{"", p.ink(bold, s)} }

// idColumn pads ids to the width of the longest one shown, within reason.
func (p *painter) idColumn(head string, ids []string) []string {
	width := len(head)
	for i, id := range ids {
		ids[i] = clean(id)
		width = max(width, text.StringWidth(ids[i]))
	}
	width = min(width, max(len(head), p.width/3))
	cells := make([]string, len(ids))
	for i, id := range ids {
		cells[i] = text.Pad(text.Snip(id, width, "…"), width, ' ')
	}
	return append(cells, text.Pad(head, width, ' '))
}

func (p *painter) troubleLines(pic *topPicture, rows int) []string {
	if rows == 0 && pic.silent == 0 {
		return nil
	}
	ids := make([]string, rows)
	for i, e := range pic.trouble[:rows] {
		ids[i] = e.id
	}
	ids = p.idColumn("", ids)
	heading := "IN TROUBLE  " + ofMany(rows, len(pic.trouble))
	if pic.silent > 0 {
		heading += fmt.Sprintf("  and %d more that are silent", pic.silent)
	}
	lines := p.heading(heading)
	for i, e := range pic.trouble[:rows] {
		sgr := yellow
		if e.gone {
			sgr = red
		}
		lines = append(lines, p.ink(sgr, ids[i])+"  "+e.trouble)
	}
	return lines
}

// ofMany says that there are more than are shown.
func ofMany(shown, all int) string {
	if shown < all {
		return fmt.Sprintf("(%d of %d)", shown, all)
	}
	return fmt.Sprintf("(%d)", all)
}

// busyColumns stand behind the id, the most telling first: those that a narrow screen has no room for are left out.
var busyColumns = []struct {
	head  string
	width int
	cell  func(p *painter, e *busyEdge) string
}{
	{"LOAD", 5, func(_ *painter, e *busyEdge) string { return loadText(e.sums.general) }},
	{"QUEUED", 6, func(_ *painter, e *busyEdge) string { return number(e.sums.general.Queued) }},
	{"IN FLIGHT", 9, func(_ *painter, e *busyEdge) string { return number(e.sums.general.InFlight) }},
	{"CAPACITY", 8, func(_ *painter, e *busyEdge) string { return e.sums.capacityCell() }},
	{"", 10, func(p *painter, e *busyEdge) string { return p.bar(e.sums.general, 10) }},
	{"NODES UP", 8, func(_ *painter, e *busyEdge) string { return fmt.Sprintf("%d/%d", e.sums.nodesUp, e.sums.nodes) }},
	{"AVAILABLE", 9, func(_ *painter, e *busyEdge) string { return fmt.Sprintf("%d/%d", e.sums.available, e.sums.providers) }},
}

func (p *painter) busyLines(pic *topPicture, rows int) []string {
	if rows == 0 {
		return nil
	}
	shown := pic.busiest[:rows]
	ids := make([]string, rows)
	for i, e := range shown {
		ids[i] = e.id
	}
	lines := p.idColumn("BUSIEST", ids) // the heading is its last
	used := text.StringWidth(lines[rows])
	for _, c := range busyColumns {
		if used += 2 + c.width; used > p.width {
			break
		}
		for i := range shown {
			lines[i] += "  " + padLeft(c.cell(p, &shown[i]), c.width)
		}
		lines[rows] += "  " + padLeft(c.head, c.width)
	}
	return append(p.heading(lines[rows]), lines[:rows]...)
}

// padLeft doesn't count escape sequences.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-text.StringWidthWithoutEscSequences(s))) + s
}

// tailLines are the newest events, the newest one last.
func (p *painter) tailLines(pic *topPicture, rows int) []string {
	if rows == 0 {
		return nil
	}
	return append(p.heading("EVENTS"), pic.tail[len(pic.tail)-rows:]...)
}
