package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"iop/load/plot"
)

// panel is one small picture: a figure's unit over the number of Edges, a line for each server.
type panel struct {
	figure figure
	unit   string
}

var panels = []panel{
	{idleHello, bytesEach}, {idleSnapshot, bytesEach}, {idleHello, goroutinesEach},
	{idleCPU, cpuAMinute}, {heartbeatCPU, cpuEach}, {pushCPU, cpuEach},
	{statusCPU, cpuEach}, {commandCPU, cpuEach}, {eventCPU, cpuEach},
	{listTime, timeEach}, {listAllTime, timeEach}, {summaryTime, timeEach},
	{gatherTime, timeEach}, {helloRate, rateOf}, {reconnectStorm, timeEach},
}

// The measures of the picture, in its own units.
const (
	columns                 = 3
	panelWidth, panelHeight = 300.0, 180.0
	panelLeft, panelRight   = 48.0, 14.0
	panelTop, panelBelow    = 30.0, 26.0
	legend                  = 26.0
	plotWidth, plotHeight   = panelWidth - panelLeft - panelRight, panelHeight - panelTop - panelBelow
	pictureStyle            = `text{font:11px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;fill:#1f2328}.g{stroke:#d8dee4}.l{fill:none;stroke-width:2}.s0{stroke:#0969da}.s1{stroke:#bc4c00;stroke-dasharray:5 3}.d0{fill:#0969da}.d1{fill:#bc4c00}.b{fill:#fff}.e{text-anchor:end}.m{text-anchor:middle}` +
		`@media (prefers-color-scheme:dark){text{fill:#9198a1}.t{fill:#f0f6fc}.g{stroke:#3d444d}.s0{stroke:#4493f8}.d0{fill:#4493f8}.s1{stroke:#f0883e}.d1{fill:#f0883e}.b{fill:#0d1117}}`
)

// picture draws what was measured of the panels as one SVG that needs nothing beside it; empty where nothing was.
func (r *results) picture() string {
	var shown []panel
	for _, p := range panels {
		if r.has(p.figure.name, p.unit) {
			shown = append(shown, p)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	rows := (len(shown) + columns - 1) / columns
	width, height := columns*panelWidth, legend+float64(rows)*panelHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="What grows with the number of Edges"><style>%s</style>`+"\n", width, height, pictureStyle)
	fmt.Fprintf(&b, `<rect class="b" width="%g" height="%g"/>`+"\n", width, height)
	for i, name := range []string{"Control Plane", "baseline"} {
		at := panelLeft + float64(i)*120
		fmt.Fprintf(&b, `<path class="l s%d" d="M%g 14h22"/><text x="%g" y="18">%s</text>`+"\n", i, at, at+28, name)
	}
	for i, p := range shown {
		fmt.Fprintf(&b, `<g transform="translate(%g %g)">`+"\n", float64(i%columns)*panelWidth, legend+float64(i/columns)*panelHeight)
		p.draw(&b, r)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p panel) draw(b *strings.Builder, r *results) {
	u := p.figure.unit(p.unit)
	lines := [][]point{r.line(p.figure.name, u.name, plane), r.line(p.figure.name, u.name, baseline)}
	most, last := 0.0, 0.0
	for _, line := range lines {
		for i := range line {
			line[i].y *= u.scale
			most, last = max(most, line[i].y), max(last, line[i].x)
		}
	}
	x, xTicks := plot.Linear(last, plotWidth)
	x.High = last // the lines go to the edge, whatever the last tick
	y, yTicks := plot.Linear(most, plotHeight)
	fmt.Fprintf(b, `<text class="t" x="%g" y="18">%s</text>`+"\n", panelLeft, html.EscapeString(u.label))
	for _, v := range yTicks {
		at := panelTop + plotHeight - y.At(v)
		fmt.Fprintf(b, `<path class="g" d="M%g %.1fh%g"/><text class="e" x="%g" y="%.1f">%s</text>`+"\n", panelLeft, at, plotWidth, panelLeft-6, at+4, plot.Label(v))
	}
	for _, v := range xTicks {
		if v <= x.High {
			fmt.Fprintf(b, `<text class="m" x="%.1f" y="%g">%s</text>`+"\n", panelLeft+x.At(v), panelHeight-8, plot.Label(v))
		}
	}
	for i, line := range lines {
		drawLine(b, i, line, x, y)
	}
}

func drawLine(b *strings.Builder, number int, line []point, x, y plot.Axis) {
	var d, dots strings.Builder
	pen := "M"
	for _, p := range line {
		if math.IsNaN(p.y) || math.IsInf(p.y, 0) {
			continue
		}
		left, top := panelLeft+x.At(p.x), panelTop+plotHeight-y.At(p.y)
		fmt.Fprintf(&d, "%s%.1f %.1f", pen, left, top)
		fmt.Fprintf(&dots, `<circle class="d%d" cx="%.1f" cy="%.1f" r="3"/>`, number, left, top)
		pen = "L"
	}
	if d.Len() > 0 {
		fmt.Fprintf(b, `<path class="l s%d" d="%s"/>%s`+"\n", number, d.String(), dots.String())
	}
}
