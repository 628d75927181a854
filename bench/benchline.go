package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// benchHead is what comes before the lines of a run, for benchstat.
func benchHead() string {
	return fmt.Sprintf("goos: %s\ngoarch: %s\npkg: iop/bench\n", runtime.GOOS, runtime.GOARCH)
}

// benchLine is one measurement as Go's benchmarks print theirs.
func benchLine(figure, server string, edges, operations int, per []unit, values []float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Benchmark%s/n=%d/server=%s\t%d", figure, edges, server, operations)
	for i, v := range values {
		fmt.Fprintf(&b, "\t%s %s", number(v), per[i].name)
	}
	return b.String()
}

// number has four digits that count, and never an exponent.
func number(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
