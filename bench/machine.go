package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine tells where and when something was measured, and how busy it was there.
func machine() string {
	text := fmt.Sprintf("%s, %s/%s, %d cores, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Now().UTC().Format("2006-01-02"))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(load)); len(f) >= 3 {
			text += fmt.Sprintf(", load average %s over 15 minutes", f[2])
		}
	}
	return text
}
