package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"iop/load/measure"
)

// cpuOf is the CPU time, user and system, that a process has used. Linux tells it to the nanosecond for each of its threads, of
// which Go's runtime ends next to none; where it doesn't, in ticks of 10 ms for the process.
func cpuOf(p measure.Process) (time.Duration, error) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Pid)) // the pattern is a good one
	var sum time.Duration
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // that thread has just ended
		}
		n, ok := onCPU(string(text))
		if !ok {
			sum = 0
			break
		}
		sum += n
	}
	if sum > 0 {
		return sum, nil
	}
	u, err := p.Usage()
	return u.CPU, err
}

// onCPU reads the first of a schedstat's numbers.
func onCPU(schedstat string) (time.Duration, bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(schedstat), " ")
	n, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(n), err == nil && n >= 0
}
