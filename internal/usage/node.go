package usage

import (
	"cmp"

	"github.com/prometheus/procfs"

	"perfrun.dev/perfrun/internal/measure"
)

// ReadNode reads the CPU time of the whole node from the file stat below procRoot (empty: /proc), which containers see as it is on the
// node; nil if it cannot be read, as in some sandboxed runtimes. Guests' time is part of user time and counts once.
func ReadNode(procRoot string) *measure.NodeCPU {
	proc, err := procfs.NewFS(cmp.Or(procRoot, DefaultProcRoot))
	if err != nil {
		return nil
	}
	stat, err := proc.Stat()
	if err != nil {
		return nil
	}
	c := stat.CPUTotal
	return &measure.NodeCPU{Total: c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal, Steal: c.Steal}
}
