package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"iop/cmd/internal/program"
	"iop/load/measure"
)

// screen shows how a run goes: a live bar on a terminal, a plain line every lineEvery elsewhere.
type screen struct {
	out      io.Writer
	lastLine time.Duration
	progress *mpb.Progress // nil: no terminal
	bar      *mpb.Bar

	mu     sync.Mutex
	sample measure.Sample
}

const lineEvery = 5 * time.Second

func newScreen(out io.Writer, edges int) *screen {
	s := &screen{out: out, lastLine: -lineEvery}
	if !program.IsTerminal(out) {
		return s
	}
	s.progress = mpb.New(mpb.WithOutput(out), mpb.WithWidth(60), mpb.WithRefreshRate(200*time.Millisecond))
	// A total that is set later doesn't complete the bar: Edges come and go.
	s.bar = s.progress.AddBar(0, mpb.PrependDecorators(s.text(func(m measure.Sample) string {
		return fmt.Sprintf("%6.0fs %s, %d of %d Edges ", m.AtS, m.Phase, m.Connected, m.Target)
	})))
	s.bar.SetTotal(int64(edges), false)
	for _, line := range []func(measure.Sample) string{statusLine, commandLine, errorLine} {
		s.progress.New(0, mpb.NopStyle(), mpb.PrependDecorators(s.text(line)))
	}
	return s
}

// text shows what a line makes of the last sample.
func (s *screen) text(line func(measure.Sample) string) decor.Decorator {
	return decor.Any(func(decor.Statistics) string { return line(s.last()) })
}

func (s *screen) last() measure.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sample
}

// show takes the sample of a second.
func (s *screen) show(one measure.Sample) {
	s.mu.Lock()
	s.sample = one
	s.mu.Unlock()
	if s.bar != nil {
		s.bar.SetCurrent(int64(one.Connected))
		return
	}
	at := time.Duration(one.AtS * float64(time.Second))
	if at-s.lastLine >= lineEvery-time.Second/2 {
		s.lastLine = at
		fmt.Fprintf(s.out, "%6.0fs %s %d/%d Edges, %s\n", one.AtS, one.Phase, one.Connected, one.Target, rates(one))
	}
}

// close leaves what is on the screen there.
func (s *screen) close() {
	if s.progress != nil {
		s.progress.Shutdown()
	}
}

func rates(m measure.Sample) string {
	return strings.Join([]string{statusLine(m), commandLine(m), errorLine(m)}, ", ")
}

func statusLine(m measure.Sample) string { return "status " + rate(m.Status) }

func commandLine(m measure.Sample) string { return "commands " + rate(m.Commands) }

func errorLine(m measure.Sample) string {
	text := fmt.Sprintf("%d errors", m.Errors)
	if m.Excused > 0 {
		text += fmt.Sprintf(" (%d excused)", m.Excused)
	}
	if m.CPU != nil && m.Resident != nil {
		text += fmt.Sprintf(", server %.0f%% CPU %d MiB", *m.CPU, *m.Resident>>20)
	}
	return text
}

func rate(r measure.Rate) string {
	text := fmt.Sprintf("%.0f/s", r.PerSecond)
	if r.P50 != nil && r.P99 != nil {
		text += fmt.Sprintf(" p50 %.1f p99 %.1f ms", *r.P50, *r.P99)
	}
	return text
}
