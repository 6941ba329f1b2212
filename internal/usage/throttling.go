package usage

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"perfrun.dev/perfrun/internal/measure"
)

// cpuStats are where a container sees its own cgroup's cpu.stat: with cgroup v2, and with v1 as runtimes mount its hierarchies.
var cpuStats = []string{"sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/cpu,cpuacct/cpu.stat", "sys/fs/cgroup/cpu/cpu.stat"}

// maxStatBytes: a cpu.stat has some hundred bytes.
const maxStatBytes = 16 << 10

// readThrottling reads how often the container of a process was held back by its CPU limit, as that container sees it: through the root
// directory of the process. The kernel lets a reader through that has the same user as the process (ptrace(2), "Ptrace access mode
// checking"); perfrun's image and Dapr's both have 65532. Nil where it does not, or where there is no such file.
func readThrottling(procRoot string, pid int) *measure.Throttling {
	for _, name := range cpuStats {
		if out := readCPUStat(filepath.Join(procRoot, strconv.Itoa(pid), "root", name)); out != nil {
			return out
		}
	}
	return nil
}

func readCPUStat(path string) *measure.Throttling {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxStatBytes))
	if err != nil {
		return nil
	}
	return parseCPUStat(text)
}

// parseCPUStat finds the counters of CFS bandwidth control (the kernel's Documentation/scheduler/sched-bwc.rst): throttled_time in
// nanoseconds with cgroup v1, throttled_usec with v2. A cgroup whose controller is off has none of them.
func parseCPUStat(text []byte) *measure.Throttling {
	var out measure.Throttling
	found := false
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch string(name) {
		case "nr_periods":
			out.Periods, found = n, true
		case "nr_throttled":
			out.Throttled = n
		case "throttled_time":
			out.Time = time.Duration(n)
		case "throttled_usec":
			out.Time = time.Duration(n) * time.Microsecond
		}
	}
	if !found {
		return nil
	}
	return &out
}
