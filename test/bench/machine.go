package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// firstLine of a file, behind the given beginning; "unknown" if it is not there.
func firstLine(path, beginning string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), beginning); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, " \t:"))
		}
	}
	return "unknown"
}

// machine describes where the figures come from.
func machine(now time.Time) string {
	return fmt.Sprintf("%s. %s, %d cores. Linux %s, %s, Fortio's library %s. Load average at the start: %s.",
		now.UTC().Format("2006-01-02 15:04 MST"), firstLine("/proc/cpuinfo", "model name"), runtime.NumCPU(),
		firstLine("/proc/sys/kernel/osrelease", ""), runtime.Version(), moduleVersion("fortio.org/fortio"), loadAverage())
}

func loadAverage() string {
	three := strings.Fields(firstLine("/proc/loadavg", ""))
	return strings.Join(three[:min(3, len(three))], " ")
}

func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}
