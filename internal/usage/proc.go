// Package usage reads what processes consume: cumulative CPU time and present memory, from /proc and from a process's own metrics.
package usage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"

	"perfrun.dev/perfrun/internal/measure"
)

const (
	// DefaultProcRoot is where /proc is mounted.
	DefaultProcRoot = "/proc"

	// clockTicks is the kernel's USER_HZ, the unit of CPU time and of starting times in /proc/PID/stat: 100 per second on every architecture that
	// Kubernetes runs on.
	clockTicks = 100

	// The names (comm) of the processes by which containers are recognised.
	sidecarComm = "daprd"
	sandboxComm = "pause"
)

var (
	// ErrNoProcesses: nothing could be read below the proc root.
	ErrNoProcesses = errors.New("no process is visible")
	// ErrNoApp: there are processes, but none of the application.
	ErrNoApp = errors.New("no process of the application is visible")
)

// process is one look at one process.
type process struct {
	pid  int
	comm string
	// container names the cgroup that the process is in: processes of one container have the same name.
	container string
	usage     measure.Usage
}

// ReadPod reads the processes that are visible below procRoot (empty: /proc) and sums them up by container; Node stays unset. With a
// shared process namespace these are all processes of the pod, whatever image and user they have; without it, they are the
// reader's own container. The reader is part of the app.
//
// CPU is the time of the living processes and of the children that they have waited for. A process that has ended unwaited for,
// or whose parent is outside the pod (as with exec probes), takes its time with it. Memory is summed over processes, so that pages
// which several of them share count for each. Throttling is that of the container of the oldest process.
func ReadPod(procRoot string) (measure.PodUsage, error) { return read(procRoot, app) }

// ReadOthers is ReadPod for a reader that has a container of its own beside the app's: that one counts for nothing.
func ReadOthers(procRoot string) (measure.PodUsage, error) { return read(procRoot, meter) }

func read(procRoot string, reader role) (measure.PodUsage, error) {
	procRoot = cmp.Or(procRoot, DefaultProcRoot)
	processes, self, err := readProcesses(procRoot)
	if err != nil {
		return measure.PodUsage{}, fmt.Errorf("reading processes: %w", err)
	}
	of := map[role][]process{}
	roleOf := roles(processes, self, reader)
	for _, p := range processes {
		of[roleOf(p)] = append(of[roleOf(p)], p)
	}
	if len(of[app]) == 0 {
		return measure.PodUsage{}, fmt.Errorf("reading processes: %w", ErrNoApp)
	}
	out := measure.PodUsage{App: sumUp(procRoot, of[app])}
	if len(of[sidecar]) > 0 {
		sum := sumUp(procRoot, of[sidecar])
		out.Sidecar = &sum
	}
	return out, nil
}

// sumUp adds up the processes of one component, of which there is at least one.
func sumUp(procRoot string, processes []process) measure.Usage {
	oldest := slices.MinFunc(processes, func(a, b process) int { return cmp.Compare(a.usage.Started, b.usage.Started) })
	sum := measure.Usage{Started: oldest.usage.Started, Throttling: readThrottling(procRoot, oldest.pid)}
	for _, p := range processes {
		sum.CPUSeconds += p.usage.CPUSeconds
		sum.Resident += p.usage.Resident
		sum.Anonymous += p.usage.Anonymous
	}
	return sum
}

// readProcesses returns the processes in order of their numbers, and the number of the reader (0 if it is not among them).
//
// A parent mostly has the lower number and is read first. So a child that is waited for in between is missed once, but never
// counted twice: in the parent's time and its own.
func readProcesses(procRoot string) (processes []process, self int, err error) {
	proc, err := procfs.NewFS(procRoot)
	if err != nil {
		return nil, 0, err
	}
	all, err := proc.AllProcs()
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, func(a, b procfs.Proc) int { return cmp.Compare(a.PID, b.PID) })
	var faults []error
	for _, p := range all {
		found, err := readProcess(p)
		if gone(err) {
			continue
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("process %d: %w", p.PID, err))
			continue
		}
		processes = append(processes, found)
	}
	if len(faults) > 0 {
		return nil, 0, errors.Join(faults...)
	}
	if len(processes) == 0 {
		return nil, 0, ErrNoProcesses
	}
	if me, err := proc.Self(); err == nil {
		self = me.PID
	}
	return processes, self, nil
}

// gone: the process has ended since the directory was listed. Reading its files then fails in one of two ways.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// readProcess needs stat, status and cgroup only, which are readable whoever owns the process.
func readProcess(p procfs.Proc) (process, error) {
	stat, err := p.Stat()
	if err != nil {
		return process{}, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return process{}, err
	}
	cgroups, err := p.Cgroups()
	if err != nil {
		return process{}, err
	}
	return process{
		pid:       p.PID,
		comm:      stat.Comm,
		container: containerOf(cgroups),
		usage: measure.Usage{
			CPUSeconds: (float64(stat.UTime) + float64(stat.STime) + float64(stat.CUTime) + float64(stat.CSTime)) / clockTicks,
			Resident:   int64(status.VmRSS),   //nolint:gosec // bytes of memory that exists
			Anonymous:  int64(status.RssAnon), //nolint:gosec // as above
			Started:    int64(stat.Starttime), //nolint:gosec // ticks since boot
		},
	}, nil
}

// containerOf names the place of a process in all hierarchies. With cgroup v2 there is one; with v1 each controller has one, and
// which of them tell containers apart depends on the runtime. Seen from inside a cgroup namespace the reader's own container is
// "/" and the others are "/../NAME": still different. The name says nothing but that, so that no runtime's paths are known here.
func containerOf(cgroups []procfs.Cgroup) string {
	lines := make([]string, len(cgroups))
	for i, c := range cgroups {
		lines[i] = strings.Join(c.Controllers, ",") + ":" + c.Path
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// role of a process in the pod.
type role int

const (
	app role = iota
	sidecar
	sandbox
	meter
)

// roles tells the containers of the pod apart. The sidecar is the container in which a daprd runs. The sandbox is the container
// of process 1 if that is the pause process under its usual name, or if it is not in the reader's container: with a shared
// process namespace the first process is the sandbox's, without one it is the reader's own. The reader's container has the reader's role.
//
// Where cgroups are hidden, as in some sandboxed runtimes, all processes seem to be in one place. Then only their names are left
// to go by: helpers that a sidecar or sandbox has started count as app.
func roles(processes []process, self int, reader role) func(process) role {
	var first, own, daprd string
	containers := map[string]bool{}
	paused := false
	for _, p := range processes {
		containers[p.container] = true
		if p.comm == sidecarComm {
			daprd = p.container
		}
		if p.pid == 1 {
			first, paused = p.container, p.comm == sandboxComm
		}
		if p.pid == self {
			own = p.container
		}
	}
	if len(containers) == 1 {
		return func(p process) role {
			if p.pid == self {
				return reader
			}
			return byName(p)
		}
	}
	hasSandbox := first != "" && (paused || (own != "" && first != own))
	return func(p process) role {
		switch {
		case daprd != "" && p.container == daprd:
			return sidecar
		case hasSandbox && p.container == first:
			return sandbox
		case own != "" && p.container == own:
			return reader
		}
		return app
	}
}

func byName(p process) role {
	switch {
	case p.comm == sidecarComm:
		return sidecar
	case p.comm == sandboxComm && p.pid == 1:
		return sandbox
	}
	return app
}
