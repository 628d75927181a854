package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Text is the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s\n", r.Scenario, r.headline())
	b.WriteString(r.requestTable())
	b.WriteString("\n" + r.edgeLines())
	if kinds := r.kinds(); kinds != "" {
		b.WriteString(kinds)
	}
	b.WriteString(r.serverLine())
	b.WriteString(r.thresholdTable())
	return b.String()
}

func (r *Report) headline() string {
	end := "every threshold holds"
	if !r.OK {
		end = "NOT every threshold holds"
	}
	if r.Interrupted {
		end += ", interrupted"
	}
	return fmt.Sprintf("%.1f s of traffic, %s", r.DurationS, end)
}

func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.Style().Options.SeparateColumns = false
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	var right []table.ColumnConfig
	for i := 2; i <= len(header); i++ {
		right = append(right, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	return t
}

// rows are the kinds of requests that this run had.
func (r *Report) rows() []row {
	var shown []row
	for _, one := range []row{
		{"status", &r.Status}, {"summaries", &r.Summaries}, {"commands", &r.Commands}, {"commands to their end", &r.Settled},
		{"Client hellos", &r.Clients}, {"live events", &r.Events}, {"live readers", &r.Readers},
	} {
		if one.Sent > 0 || one.NotSent > 0 {
			shown = append(shown, one)
		}
	}
	return shown
}

type row struct {
	Name string
	*Requests
}

func (r *Report) requestTable() string {
	t := newTable("", "sent", "ok", "errors", "excused", "not sent", "p50", "p90", "p99", "p99.9", "max ms")
	for _, one := range r.rows() {
		t.AppendRow(table.Row{one.Name, one.Sent, one.OK, one.Errors, one.Excused, one.NotSent,
			shown(one.P50), shown(one.P90), shown(one.P99), shown(one.P999), shown(one.Max)})
	}
	return t.Render() + "\n"
}

// shown is a number of milliseconds, or a dash for what wasn't measured.
func shown(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *v)
}

func (r *Report) edgeLines() string {
	e := &r.Edges
	line := fmt.Sprintf("Edges: %d of %d connected, %d reconnects", e.Connected, e.Target, e.Reconnects)
	if e.ConnectMS != nil && e.ConnectRate != nil {
		line += fmt.Sprintf("; all for the first time after %.2f s, %.0f a second", *e.ConnectMS/1000, *e.ConnectRate)
	}
	line += fmt.Sprintf("; %d heartbeats, %d snapshots, %d events said", e.Heartbeats, e.Snapshots, e.Events)
	if e.Cut > 0 {
		line += fmt.Sprintf("; %d links weren't closed by the server after the goodbye", e.Cut)
	}
	for _, s := range r.Reconnect.Storms {
		back := "not all came back"
		if s.Back != nil {
			back = fmt.Sprintf("all back after %.2f s", *s.Back/1000)
		}
		line += fmt.Sprintf("\n  %s of %d Edges at %.0f s: %s", s.Kind, s.Edges, s.AtS, back)
	}
	return line + "\n"
}

// kinds lists what went wrong, by kind.
func (r *Report) kinds() string {
	var b strings.Builder
	list := func(title string, kinds map[string]uint64) {
		if len(kinds) > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", title, Joined(kinds))
		}
	}
	list("Edges' troubles", r.Edges.Troubles)
	for _, one := range r.rows() {
		list(one.Name+" errors", one.ErrorKinds)
		list(one.Name+" excused", one.ExcuseKinds)
	}
	return b.String()
}

// Joined is kinds of trouble as one line, the most frequent first.
func Joined(kinds map[string]uint64) string {
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d×", name, kinds[name])
	}
	return strings.Join(names, ", ")
}

func (r *Report) serverLine() string {
	s := &r.Server
	if s.ResidentBytes == nil {
		return "Server: not watched (" + s.Why + ")\n"
	}
	line := fmt.Sprintf("Server (process %d): %d MiB resident", s.Pid, *s.ResidentBytes>>20)
	if s.BytesPerEdge != nil {
		line += fmt.Sprintf(", grew by %.0f bytes an Edge", *s.BytesPerEdge)
	}
	if s.CPUPercent != nil {
		line += fmt.Sprintf(", %.0f%% of a core", *s.CPUPercent)
	}
	if s.CPUPerStatus != nil {
		line += fmt.Sprintf(", all its CPU is %.0f µs a status read", *s.CPUPerStatus)
	}
	if t := r.Tool.BytesPerEdge; t != nil {
		line += fmt.Sprintf("\nThis process grew by %.0f bytes an Edge", *t)
	}
	return line + "\n"
}

func (r *Report) thresholdTable() string {
	t := newTable("threshold", "value", "")
	for _, v := range r.Thresholds {
		verdict := "holds"
		if !v.OK {
			verdict = "FAILS"
		}
		t.AppendRow(table.Row{v.Threshold, v.Value, verdict})
	}
	return "\n" + t.Render() + "\n"
}
