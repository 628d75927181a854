package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"

	"iop/load/measure"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"ms":     shown,
	"joined": Joined,
}).Parse(pageText))

// tile is one number that people look for first.
type tile struct {
	Name, Value, Note string
	Bad               bool
}

// HTML is the report as one self-contained page: no script, no address outside, for dark and light screens.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"R": r, "Headline": r.headline(), "Tiles": r.tiles(), "Rows": r.rows(), "EdgeLines": r.edgeLines(), "ServerLine": r.serverLine(),
		"Charts": r.charts(), "Began": r.StartedAt.Format("2006-01-02 15:04:05 UTC"),
	})
	return b.Bytes(), err
}

func (r *Report) tiles() []tile {
	e, all := &r.Edges, r.allRequests()
	tiles := []tile{
		{Name: "Edges connected", Value: fmt.Sprintf("%d of %d", e.Connected, e.Target), Note: fmt.Sprintf("%d reconnects", e.Reconnects), Bad: e.Connected < e.Target},
		{Name: "Errors", Value: fmt.Sprint(all.Errors), Note: fmt.Sprintf("of %d requests, %d excused", all.Sent, all.Excused), Bad: all.Errors > 0},
	}
	t := r.Totals
	wrong := t.Lost + t.Duplicated + t.Misrouted + t.ExecutedTwice + t.OutOfOrder + t.Skipped
	tiles = append(tiles, tile{Name: "Wrong answers", Value: fmt.Sprint(wrong), Bad: wrong > 0, Note: fmt.Sprintf("%d lost, %d duplicated, %d misrouted, %d run twice, %d out of order, %d skipped",
		t.Lost, t.Duplicated, t.Misrouted, t.ExecutedTwice, t.OutOfOrder, t.Skipped)})
	if r.Status.P99 != nil {
		tiles = append(tiles, tile{Name: "Status p99", Value: shown(r.Status.P99) + " ms", Note: "p50 " + shown(r.Status.P50) + " ms, max " + shown(r.Status.Max) + " ms"})
	}
	if r.Commands.P99 != nil {
		tiles = append(tiles, tile{Name: "Commands p99", Value: shown(r.Commands.P99) + " ms", Note: "p50 " + shown(r.Commands.P50) + " ms, max " + shown(r.Commands.Max) + " ms"})
	}
	if e.ConnectMS != nil && e.ConnectRate != nil {
		tiles = append(tiles, tile{Name: "All connected after", Value: fmt.Sprintf("%.2f s", *e.ConnectMS/1000), Note: fmt.Sprintf("%.0f a second", *e.ConnectRate)})
	}
	if r.Reconnect.All != nil {
		tiles = append(tiles, tile{Name: "All back after", Value: fmt.Sprintf("%.2f s", *r.Reconnect.All/1000), Note: fmt.Sprintf("the longest of %d", len(r.Reconnect.Storms))})
	}
	if s := r.Server; s.CPUPerStatus != nil {
		tiles = append(tiles, tile{Name: "Server CPU a status read", Value: fmt.Sprintf("%.0f µs", *s.CPUPerStatus), Note: "all of its CPU in this time"})
	}
	if s := r.Server; s.BytesPerEdge != nil {
		tiles = append(tiles, tile{Name: "Server memory an Edge", Value: fmt.Sprintf("%.1f KiB", *s.BytesPerEdge/1024), Note: "growth while the Edges connected"})
	}
	return tiles
}

func (r *Report) charts() []template.HTML {
	line := func(name string, of func(measure.Sample) float64) series {
		s := series{name: name}
		for _, one := range r.Samples {
			s.points = append(s.points, point{one.AtS, of(one)})
		}
		return s
	}
	orGap := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	charts := []chart{
		{title: "Edges connected", unit: "Edges", series: []series{
			line("connected", func(s measure.Sample) float64 { return float64(s.Connected) })}},
		{title: "Answered a second", unit: "a second", series: []series{
			line("status", func(s measure.Sample) float64 { return s.Status.PerSecond }),
			line("commands", func(s measure.Sample) float64 { return s.Commands.PerSecond }),
			line("live events", func(s measure.Sample) float64 { return s.Events.PerSecond })}},
		{title: "Latency, from the moment a request was due", unit: "ms", log: true, series: []series{
			line("status p50", func(s measure.Sample) float64 { return orGap(s.Status.P50) }),
			line("status p99", func(s measure.Sample) float64 { return orGap(s.Status.P99) }),
			line("commands p99", func(s measure.Sample) float64 { return orGap(s.Commands.P99) })}},
		{title: "Server CPU", unit: "% of a core", series: []series{
			line("CPU", func(s measure.Sample) float64 { return orGap(s.CPU) })}},
		{title: "Server memory", unit: "MiB resident", series: []series{
			line("resident", func(s measure.Sample) float64 {
				if s.Resident == nil {
					return math.NaN()
				}
				return float64(*s.Resident) / (1 << 20)
			})}},
	}
	var drawn []template.HTML
	for _, c := range charts {
		c.xUnit = "seconds"
		c.marks = r.marks()
		drawn = append(drawn, c.svg())
	}
	for _, h := range []template.HTML{histogram("Status reads by latency", r.Status.Histogram), histogram("Commands by latency", r.Commands.Histogram)} {
		if h != "" {
			drawn = append(drawn, h)
		}
	}
	return drawn
}

// marks are the losses of links, on the samples' clock.
func (r *Report) marks() []mark {
	var marks []mark
	for _, s := range r.Reconnect.Storms {
		marks = append(marks, mark{r.TrafficAtS + s.AtS, fmt.Sprintf("%s of %d Edges", s.Kind, s.Edges)})
	}
	return marks
}
