package backend

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"sync"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A line over maxLineBytes is skipped, whatever it is about.
const (
	maxLineBytes = 64 << 10
	maxKeptBytes = 256 << 10 // of lines that are of interest: thousands of series
)

// sumMetrics reads a page in the Prometheus text format and adds up the series of each name. NaN and negative values
// count nothing, and a name without any other is missing.
func sumMetrics(page io.Reader, names ...string) (map[string]float64, error) {
	lines, err := linesAbout(page, names)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(lines))
	if err != nil {
		return nil, ErrUnreadable
	}
	sums := make(map[string]float64, len(names))
	for _, name := range names {
		for _, m := range families[name].GetMetric() {
			if v := valueOf(m); v >= 0 {
				sums[name] += v
			}
		}
	}
	return sums, nil
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Untyped != nil:
		return m.Untyped.GetValue()
	}
	return math.NaN() // a histogram or a summary is no number of requests
}

// lineReaders are kept, since hundreds of providers are asked every few seconds.
var lineReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLineBytes) }}

// linesAbout keeps the lines about some names. An engine's page is mostly histograms, and parsing all of it
// every few seconds to use two lines would be most of what an Edge does; and so a page that is
// broken elsewhere still serves.
func linesAbout(page io.Reader, names []string) ([]byte, error) {
	var kept []byte
	in := lineReaders.Get().(*bufio.Reader)
	in.Reset(page)
	defer func() {
		in.Reset(nil) // holds on to no page
		lineReaders.Put(in)
	}()
	for {
		line, err := in.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		if !tooLong && isAbout(line, names) {
			kept = append(kept, line...)
		}
		if len(kept) > maxKeptBytes {
			return nil, ErrTooLong
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return endLine(kept), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// isAbout tells whether a line is a sample of one of the names, or says its type.
func isAbout(line []byte, names []string) bool {
	line = bytes.TrimLeft(line, " \t")
	if rest, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
		line = bytes.TrimLeft(rest, " \t")
	}
	for _, name := range names {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if ok && len(rest) > 0 && (rest[0] == '{' || rest[0] == ' ' || rest[0] == '\t') {
			return true
		}
	}
	return false
}

// endLine gives the last line its end, which the format wants.
func endLine(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}

// count makes a number of requests of whatever a backend exports.
func count(v float64) uint32 {
	switch {
	case !(v > 0): // NaN too
		return 0
	case v >= math.MaxUint32:
		return math.MaxUint32
	}
	return uint32(math.Round(v))
}
