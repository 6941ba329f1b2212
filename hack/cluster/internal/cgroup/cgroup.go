// Package cgroup keeps the cluster's processes in control groups of their own:
// to find them all again, whatever became of their parents, and to give each
// kubelet a root below which it does as it likes.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/mounts"
)

const root = "/sys/fs/cgroup"

// Hierarchy is one mounted tree of control groups.
type Hierarchy struct {
	Point string
	// V2 is true for the unified hierarchy.
	V2 bool
	// Cpuset marks a version 1 tree in which a new group has neither CPUs nor
	// memory nodes and so cannot take a process until it is given some.
	Cpuset bool
}

// Host is how this machine mounts its control groups.
type Host struct {
	Hierarchies []Hierarchy
	// V2 is true when the controllers are in the unified hierarchy. A machine
	// may mount that beside version 1 with no controller in it.
	V2 bool
}

// Detect reads the machine's mounts.
func Detect() (Host, error) {
	all, err := mounts.Read()
	if err != nil {
		return Host{}, err
	}
	return FromMounts(all)
}

// FromMounts is Detect for a given table of mounts.
func FromMounts(all []mounts.Mount) (Host, error) {
	var h Host
	seen := map[string]bool{}
	for _, m := range all {
		// Copies of a hierarchy elsewhere, or a part of one, are not ours.
		if m.Root != "/" || seen[m.Point] || (m.Point != root && filepath.Dir(m.Point) != root) {
			continue
		}
		switch m.FSType {
		case "cgroup":
			h.Hierarchies = append(h.Hierarchies, Hierarchy{Point: m.Point, Cpuset: slices.Contains(m.Options, "cpuset")})
		case "cgroup2":
			h.V2 = h.V2 || m.Point == root
			h.Hierarchies = append(h.Hierarchies, Hierarchy{Point: m.Point, V2: true})
		default:
			continue
		}
		seen[m.Point] = true
	}
	if len(h.Hierarchies) == 0 {
		return h, fmt.Errorf("no control groups are mounted at %s; a cluster needs them (version 1 or 2) to account for its pods", root)
	}
	return h, nil
}

// Create makes the group path (relative to the root) and its parents in every
// hierarchy.
func (h Host) Create(path string) error {
	for _, t := range h.Hierarchies {
		dir := t.Point
		for _, part := range strings.Split(path, "/") {
			if t.V2 && h.V2 {
				if err := delegate(dir); err != nil {
					return err
				}
			}
			parent := dir
			dir = filepath.Join(dir, part)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("making control group: %w", err)
			}
			if t.Cpuset {
				if err := inheritCpuset(parent, dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// delegate lets children of dir use every controller that dir has itself.
func delegate(dir string) error {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading controllers: %w", err)
	}
	for _, c := range strings.Fields(string(have)) {
		err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644)
		needed := slices.Contains([]string{"cpu", "cpuset", "memory", "pids"}, c)
		if err != nil && needed {
			return fmt.Errorf("enabling controller %s below %s: %w; inside a container that shares its own control group, processes must be moved out of it first", c, dir, err)
		}
	}
	return nil
}

// inheritCpuset copies what version 1 leaves empty in a new group.
func inheritCpuset(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("reading cpuset: %w", err)
		}
		if strings.TrimSpace(string(own)) != "" {
			continue
		}
		v, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return fmt.Errorf("reading cpuset: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), v, 0o644); err != nil {
			return fmt.Errorf("setting cpuset: %w", err)
		}
	}
	return nil
}

// Join moves the calling process into the group in every hierarchy.
func (h Host) Join(path string) error {
	for _, t := range h.Hierarchies {
		file := filepath.Join(t.Point, path, "cgroup.procs")
		if err := os.WriteFile(file, []byte("0"), 0o644); err != nil {
			return fmt.Errorf("joining control group: %w", err)
		}
	}
	return nil
}

// PIDs returns every process in the group or below it, in any hierarchy.
func (h Host) PIDs(path string) ([]int, error) {
	found := map[int]bool{}
	for _, dir := range h.dirs(path) {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("listing control group: %w", err)
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				found[pid] = true
			}
		}
	}
	pids := make([]int, 0, len(found))
	for pid := range found {
		pids = append(pids, pid)
	}
	sort.Ints(pids)
	return pids, nil
}

// Remove deletes the group and all below it. Every process must have ended.
func (h Host) Remove(path string) error {
	dirs := h.dirs(path)
	for i := len(dirs) - 1; i >= 0; i-- { // children come after their parent
		if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing control group: %w", err)
		}
	}
	return nil
}

// Exists tells whether the group is there in any hierarchy.
func (h Host) Exists(path string) bool { return len(h.dirs(path)) > 0 }

func (h Host) dirs(path string) []string {
	var dirs []string
	for _, t := range h.Hierarchies {
		// Groups come and go while the tree is walked: what cannot be read
		// any more is not there any more.
		_ = filepath.WalkDir(filepath.Join(t.Point, path), func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return nil
		})
	}
	return dirs
}
