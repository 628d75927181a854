package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"iop/load/plot"
)

// chart is one picture of the page, as SVG that takes its colours from the page's style.
type chart struct {
	title  string
	unit   string // of the values
	xUnit  string
	log    bool // the values' axis is logarithmic
	series []series
	marks  []mark
}

// series is one line. A value that is missing (NaN) leaves a gap.
type series struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// mark is something that happened at a moment.
type mark struct {
	x    float64
	text string
}

// The measures of a picture, in its own units.
const (
	chartWidth, chartHeight = 540.0, 200.0
	left, right, top, below = 46.0, 10.0, 24.0, 26.0
	xUnitRoom               = 60.0
)

func (c *chart) has() bool {
	for _, s := range c.series {
		for _, p := range s.points {
			if !math.IsNaN(p.y) {
				return true
			}
		}
	}
	return false
}

// svg draws it; a chart without a value says so.
func (c *chart) svg() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s`, html.EscapeString(c.title))
	for i, s := range c.series {
		fmt.Fprintf(&b, ` <span class="key s%d">%s</span>`, i, html.EscapeString(s.name))
	}
	b.WriteString(`</figcaption>`)
	if !c.has() {
		b.WriteString(`<p class="none">nothing was measured</p></figure>`)
		return template.HTML(b.String())
	}
	x, xTicks, y, yTicks := c.axes()
	openSVG(&b, c.title)
	drawAxes(&b, x, xTicks, c.xUnit, y, yTicks, c.unit)
	for _, m := range c.marks {
		at := left + x.At(m.x)
		fmt.Fprintf(&b, `<line class="mark" x1="%.1f" x2="%.1f" y1="%g" y2="%g"><title>%s</title></line>`, at, at, top, chartHeight-below, html.EscapeString(m.text))
	}
	for i, s := range c.series {
		fmt.Fprintf(&b, `<path class="line s%d" d="%s"/>`, i, path(s.points, x, y))
	}
	b.WriteString(`</svg></figure>`)
	return template.HTML(b.String())
}

func (c *chart) axes() (x plot.Axis, xTicks []float64, y plot.Axis, yTicks []float64) {
	lowest, highest, last := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range c.series {
		for _, p := range s.points {
			last = max(last, p.x)
			if !math.IsNaN(p.y) {
				lowest, highest = min(lowest, p.y), max(highest, p.y)
			}
		}
	}
	x, xTicks = plot.Linear(last, chartWidth-left-right)
	x.High = max(last, 1) // the line goes to the edge, whatever the last tick
	for len(xTicks) > 1 && xTicks[len(xTicks)-1] > x.High {
		xTicks = xTicks[:len(xTicks)-1]
	}
	if c.log {
		y, yTicks = plot.Decades(max(lowest, 0.01), highest, chartHeight-top-below)
	} else {
		y, yTicks = plot.Linear(highest, chartHeight-top-below)
	}
	return x, xTicks, y, yTicks
}

func openSVG(b *strings.Builder, title string) {
	fmt.Fprintf(b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(title))
}

func drawAxes(b *strings.Builder, x plot.Axis, xTicks []float64, xUnit string, y plot.Axis, yTicks []float64, unit string) {
	for _, v := range yTicks {
		at := chartHeight - below - y.At(v)
		fmt.Fprintf(b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text class="y" x="%g" y="%.1f">%s</text>`,
			left, chartWidth-right, at, at, left-6, at+4, plot.Label(v))
	}
	for _, v := range xTicks {
		if x.At(v) > x.Length-xUnitRoom {
			continue // the unit is there
		}
		fmt.Fprintf(b, `<text class="x" x="%.1f" y="%g">%s</text>`, left+x.At(v), chartHeight-8, plot.Label(v))
	}
	fmt.Fprintf(b, `<text class="unit" x="%g" y="%g">%s</text>`, left+4, top-10, html.EscapeString(unit))
	fmt.Fprintf(b, `<text class="end" x="%g" y="%g">%s</text>`, chartWidth-right, chartHeight-8, html.EscapeString(xUnit))
}

func path(points []point, x, y plot.Axis) string {
	var b strings.Builder
	pen := "M"
	for _, p := range points {
		if math.IsNaN(p.y) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, left+x.At(p.x), chartHeight-below-y.At(p.y))
		pen = "L"
	}
	return b.String()
}

// histogram draws the buckets of one kind of request over a logarithmic axis of milliseconds.
func histogram(title string, buckets []Bucket) template.HTML {
	if len(buckets) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption>`, html.EscapeString(title))
	var most int64
	for _, one := range buckets {
		most = max(most, one.Count)
	}
	x, xTicks := plot.Decades(buckets[0].UpToMS/bucketGrowth, buckets[len(buckets)-1].UpToMS, chartWidth-left-right)
	y, yTicks := plot.Linear(float64(most), chartHeight-top-below)
	openSVG(&b, title)
	drawAxes(&b, x, xTicks, "ms", y, yTicks, "requests")
	for _, one := range buckets {
		from, to := x.At(one.UpToMS/bucketGrowth), x.At(one.UpToMS)
		h := y.At(float64(one.Count))
		fmt.Fprintf(&b, `<rect class="bar s0" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%.3g to %.3g ms: %d</title></rect>`,
			left+from+0.5, chartHeight-below-h, max(0.5, to-from-1), h, one.UpToMS/bucketGrowth, one.UpToMS, one.Count)
	}
	b.WriteString(`</svg></figure>`)
	return template.HTML(b.String())
}
