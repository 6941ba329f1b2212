// Package machine describes the machine that a benchmark's figures come from.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Describe says when and on what a benchmark begins. also is what else its figures depend on, such as ", version 1 of a library".
func Describe(now time.Time, also string) string {
	return fmt.Sprintf("%s. %s, %d cores. Linux %s, %s%s. Load average at the start: %s.",
		now.UTC().Format("2006-01-02 15:04 MST"), firstLine("/proc/cpuinfo", "model name"), runtime.NumCPU(),
		firstLine("/proc/sys/kernel/osrelease", ""), runtime.Version(), also, LoadAverage())
}

// LoadAverage of the last 1, 5 and 15 minutes.
func LoadAverage() string {
	three := strings.Fields(firstLine("/proc/loadavg", ""))
	return strings.Join(three[:min(3, len(three))], " ")
}

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
