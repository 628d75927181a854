package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine tells where and when something was measured, how long that took, and how busy it was there.
func machine(took time.Duration) string {
	text := fmt.Sprintf("%s, %s/%s, %d cores, %s, %.0f minutes", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().UTC().Format("2006-01-02"), took.Minutes())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(load)); len(f) >= 3 {
			text += fmt.Sprintf(", load average %s over 15 minutes", f[2])
		}
	}
	return text
}
