package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/build"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// Down removes the cluster and whatever is left of one, from any state. It
// relies on nothing that was written down: processes are found by their
// control group and by the namespaces they are in, which the kernel keeps.
func Down(ctx context.Context, c *Cluster, all bool) error {
	return c.Report.Step("removing the cluster", func(s *progress.Step) (string, error) {
		s.Detail("ending its processes")
		if err := c.killAll(ctx); err != nil {
			return "", err
		}
		s.Detail("removing namespaces and control groups")
		if err := c.iso.Remove(); err != nil {
			return "", err
		}
		if err := c.removeGroup(ctx); err != nil {
			return "", err
		}
		s.Detail("removing files")
		if err := os.RemoveAll(c.Cluster()); err != nil {
			return "", fmt.Errorf("removing files: %w", err)
		}
		if !all {
			return "the cluster is gone; programs and logs are kept (--all removes them too)", nil
		}
		return "the cluster, its programs and its logs are gone", c.removeKept()
	})
}

// removeKept removes what an ordinary down leaves for the next up.
func (c *Cluster) removeKept() error {
	b := build.Builder{Layout: c.Layout, Report: c.Report}
	for _, version := range plan.DaprVersions() {
		if err := b.Remove(build.Cluster(version)); err != nil {
			return err
		}
	}
	for _, f := range []string{c.Logs(), c.Lock()} {
		if err := os.RemoveAll(f); err != nil {
			return fmt.Errorf("removing files: %w", err)
		}
	}
	// Folders that others use too are left to them.
	for _, d := range []string{c.Bin(), c.Dir} {
		if err := os.Remove(d); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
			return fmt.Errorf("removing folder: %w", err)
		}
	}
	return nil
}

// killAll ends every process of the cluster.
func (c *Cluster) killAll(ctx context.Context) error {
	return c.kill(ctx, func() ([]int, error) {
		pids, err := c.host.PIDs(c.Cgroup())
		if err != nil {
			return nil, err
		}
		inside, err := c.inside()
		return append(pids, inside...), err
	})
}

// killGroup ends every process of one control group.
func (c *Cluster) killGroup(ctx context.Context, group string) error {
	return c.kill(ctx, func() ([]int, error) { return c.host.PIDs(group) })
}

// kill repeats until find finds nobody: processes may be born meanwhile.
func (c *Cluster) kill(ctx context.Context, find func() ([]int, error)) error {
	return poll(ctx, time.Minute, 50*time.Millisecond, func() (string, error) {
		pids, err := find()
		if err != nil || len(pids) == 0 {
			return "", err
		}
		for _, pid := range pids {
			if pid == os.Getpid() {
				return "", errors.New("this command runs inside the cluster that it is to remove; run it from outside")
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return "", fmt.Errorf("ending process %d: %w", pid, err)
			}
		}
		return fmt.Sprintf("processes %v do not end; they may hang in the kernel", pids), nil
	})
}

// inside finds processes in the cluster's own network and mount namespaces,
// by the namespaces' inodes. They are all the cluster's, or somebody's shell
// in a node, which would keep the node alive.
func (c *Cluster) inside() ([]int, error) {
	pins, err := filepath.Glob(c.Namespaces("*"))
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	ours := map[[2]uint64]bool{}
	for _, p := range pins {
		var fs unix.Statfs_t
		var st unix.Stat_t
		if unix.Statfs(p, &fs) == nil && fs.Type == unix.NSFS_MAGIC && unix.Stat(p, &st) == nil {
			ours[[2]uint64{st.Dev, st.Ino}] = true
		}
	}
	if len(ours) == 0 {
		return nil, nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		for _, ns := range []string{"net", "mnt"} {
			var st unix.Stat_t
			if unix.Stat(fmt.Sprintf("/proc/%d/ns/%s", pid, ns), &st) == nil && ours[[2]uint64{st.Dev, st.Ino}] {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}

// removeGroup waits for the kernel to be done with processes that have ended.
func (c *Cluster) removeGroup(ctx context.Context) error {
	return poll(ctx, 20*time.Second, 100*time.Millisecond, func() (string, error) {
		err := c.host.Remove(c.Cgroup())
		if errors.Is(err, unix.EBUSY) {
			return err.Error(), nil
		}
		return "", err
	})
}
