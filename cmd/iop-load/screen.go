package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

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
	f, ok := out.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return s
	}
	s.progress = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
	s.bar = s.progress.AddBar(int64(edges),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			last := s.last()
			return fmt.Sprintf("%-10s %6d/%d Edges ", last.Phase, last.Connected, last.Target)
		})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + rates(s.last()) })))
	return s
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

func (s *screen) close() {
	if s.bar != nil {
		s.bar.Abort(false)
		s.progress.Wait()
	}
}

func rates(m measure.Sample) string {
	text := fmt.Sprintf("status %.0f/s%s, commands %.0f/s%s, %d errors", m.Status.PerSecond, times(m.Status),
		m.Commands.PerSecond, times(m.Commands), m.Errors)
	if m.Excused > 0 {
		text += fmt.Sprintf(" (%d excused)", m.Excused)
	}
	if m.CPU != nil && m.Resident != nil {
		text += fmt.Sprintf(", server %.0f%% CPU %d MiB", *m.CPU, *m.Resident>>20)
	}
	return text
}

func times(r measure.Rate) string {
	if r.P50 == nil || r.P99 == nil {
		return ""
	}
	return fmt.Sprintf(" p50 %.1f p99 %.1f ms", *r.P50, *r.P99)
}
