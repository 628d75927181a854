package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"iop/cmd/internal/terminal"
)

// page is what a table format writes: grids to stdout, and behind them sentences to stderr. So the first line of a list is its
// headings, and an empty list is no line.
type page struct {
	wide  bool
	looks looks
	text  strings.Builder
	talk  strings.Builder
}

func (p *page) say(format string, args ...any) { fmt.Fprintf(&p.talk, format+"\n", args...) }

// column is one of a grid's.
type column struct {
	name  string
	right bool // numbers
	wide  bool // in wide tables alone
	state bool // a word that has a colour
	spare int  // a narrow terminal does without the column with the highest number first; 0 stays
	prose bool // the last column, whose texts are cut before other columns are given up
}

// leastProse is how much of a column of prose is kept before others are given up.
const leastProse = 30

// grid writes rows under columns, for people. Without rows it writes nothing.
func (p *page) grid(columns []column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	hidden := p.hidden(columns, rows)
	t := terminal.Table()
	header := table.Row{}
	var configs []table.ColumnConfig
	for i, c := range columns {
		header = append(header, c.name)
		configs = append(configs, p.config(i+1, c, hidden[i]))
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	for _, row := range rows {
		t.AppendRow(tableRow(row))
	}
	p.write(t.Render())
}

// blank stands between two of them.
func (p *page) blank() { p.text.WriteByte('\n') }

// details writes names and values below each other.
func (p *page) details(pairs [][2]string) {
	t := terminal.Table()
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Transformer: p.paint}})
	for _, pair := range pairs {
		t.AppendRow(table.Row{pair[0], pair[1]})
	}
	p.write(t.Render())
}

// write takes what a narrow terminal has no room for off the lines.
func (p *page) write(lines string) {
	for line := range strings.Lines(lines + "\n") {
		if line = strings.TrimSuffix(line, "\n"); p.looks.width > 0 && !p.wide {
			line = text.Snip(line, p.looks.width, "…")
		}
		p.text.WriteString(line + "\n")
	}
}

// hidden tells which columns aren't shown: those of wide tables, and on a terminal as many spare ones as it takes to fit.
func (p *page) hidden(columns []column, rows [][]string) []bool {
	hide := make([]bool, len(columns))
	used, spare := -len(terminal.Gap), []int{}
	widths := make([]int, len(columns))
	for i, c := range columns {
		if hide[i] = c.wide && !p.wide; hide[i] {
			continue
		}
		widths[i] = text.StringWidth(c.name)
		for _, row := range rows {
			widths[i] = max(widths[i], text.StringWidth(row[i]))
		}
		if c.prose {
			widths[i] = min(widths[i], leastProse)
		}
		used += widths[i] + len(terminal.Gap)
		if c.spare > 0 {
			spare = append(spare, i)
		}
	}
	if p.wide || p.looks.width == 0 {
		return hide
	}
	slices.SortStableFunc(spare, func(i, j int) int { return columns[j].spare - columns[i].spare })
	for _, i := range spare {
		if used <= p.looks.width {
			break
		}
		hide[i] = true
		used -= widths[i] + len(terminal.Gap)
	}
	return hide
}

func (p *page) config(number int, c column, hidden bool) table.ColumnConfig {
	config := table.ColumnConfig{Number: number, Hidden: hidden}
	if c.right {
		config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
	}
	if c.state {
		config.Transformer = p.paint
	}
	return config
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		row[i] = cell
	}
	return row
}

// words that have a colour, and the SGR number of it.
var words = map[string]int{
	"connected": 32, "available": 32, "online": 32, "succeeded": 32, "yes": 32,
	"stale": 33, "busy": 33, "degraded": 33, "accepted": 33, "running": 33, "sent": 33, "pending": 33,
	"disconnected": 31, "unavailable": 31, "offline": 31, "failed": 31, "rejected": 31, "cancelled": 31, "expired": 31,
	"unknown": 35, "no answer": 31, "no": 31,
}

func (p *page) paint(v any) string {
	word := fmt.Sprint(v)
	if color, ok := words[word]; ok && p.looks.color {
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, word)
	}
	return word
}
