package cgroup

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"perfrun.dev/perfrun/hack/cluster/internal/mounts"
)

const (
	pureV1 = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
34 31 0:31 /docker/abc /mnt/cpuset rw - cgroup cgroup rw,cpuset
`
	unified = `41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	pureV2 = `31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate
`
)

func TestFromMounts(t *testing.T) {
	v1 := []Hierarchy{
		{Point: "/sys/fs/cgroup/cpu,cpuacct"},
		{Point: "/sys/fs/cgroup/cpuset", Cpuset: true},
	}
	tests := []struct {
		name, table string
		want        Host
		wantErr     bool
	}{
		{"version 1", pureV1, Host{Hierarchies: v1}, false},
		{"both, controllers in version 1", pureV1 + unified,
			Host{Hierarchies: append(v1[:2:2], Hierarchy{Point: "/sys/fs/cgroup/unified", V2: true})}, false},
		{"version 2", pureV2, Host{Hierarchies: []Hierarchy{{Point: "/sys/fs/cgroup", V2: true}}, V2: true}, false},
		{"none", "27 1 254:0 / / rw - ext4 /dev/vda rw\n", Host{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := mounts.Parse(strings.NewReader(tt.table))
			if err != nil {
				t.Fatal(err)
			}
			got, err := FromMounts(all)
			if (err != nil) != tt.wantErr || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestCreateV2 has ordinary folders in place of the kernel's: what matters is
// which files are written.
func TestCreateV2(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.controllers", "cpu memory\n")
	write("a/cgroup.controllers", "cpu\n")
	h := Host{Hierarchies: []Hierarchy{{Point: dir, V2: true}}, V2: true}
	if err := h.Create("a/b"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cgroup.subtree_control": "+memory", "a/cgroup.subtree_control": "+cpu"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	// The innermost group holds processes, and so may delegate nothing.
	if _, err := os.Stat(filepath.Join(dir, "a/b/cgroup.subtree_control")); err == nil {
		t.Error("the innermost group delegates")
	}
}

func TestInheritCpuset(t *testing.T) {
	dir := t.TempDir()
	child := filepath.Join(dir, "child")
	if err := os.Mkdir(child, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"cpuset.cpus": "0-3\n", "cpuset.mems": "0\n",
		"child/cpuset.cpus": "\n", "child/cpuset.mems": "1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := inheritCpuset(dir, child); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cpuset.cpus": "0-3\n", "cpuset.mems": "1\n"} {
		if got, _ := os.ReadFile(filepath.Join(child, file)); string(got) != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestPIDsAndRemove(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		a + "/x/cgroup.procs": "7\n3\n", a + "/x/y/cgroup.procs": "12\n", b + "/x/cgroup.procs": "3\n0\n", b + "/z/cgroup.procs": "99\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := Host{Hierarchies: []Hierarchy{{Point: a}, {Point: b}}}
	if got, err := h.PIDs("x"); err != nil || !reflect.DeepEqual(got, []int{3, 7, 12}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := h.PIDs("nothing"); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := h.Remove("nothing"); err != nil {
		t.Error(err)
	}
}
