package usage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"perfrun.dev/perfrun/internal/measure"
)

// fake is a process of a made-up /proc. Its times are in clock ticks, its memory in kB.
type fake struct {
	pid                          int
	comm, cgroup                 string
	utime, stime, cutime, cstime int
	rss, anon                    int
}

// procTree lays out a made-up /proc in which the reader is process self (0: it is not there).
func procTree(t *testing.T, self int, processes ...fake) string {
	t.Helper()
	root := t.TempDir()
	write := func(pid int, name, content string) {
		if err := os.WriteFile(filepath.Join(root, strconv.Itoa(pid), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range processes {
		if err := os.Mkdir(filepath.Join(root, strconv.Itoa(p.pid)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(p.pid, "stat", fmt.Sprintf("%d (%s) S 0 1 1 0 -1 4194560 100 200 3 4 %d %d %d %d 20 0 9 0 1234 1000000 500 18446744073709551615 "+
			"1 1 1 0 0 0 0 0 2147483647 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 1 1 0\n", p.pid, p.comm, p.utime, p.stime, p.cutime, p.cstime))
		write(p.pid, "status", fmt.Sprintf("Name:\t%s\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t0\nUid:\t65532\t65532\t65532\t65532\n"+
			"VmRSS:\t%8d kB\nRssAnon:\t%8d kB\nRssFile:\t       4 kB\nThreads:\t9\n", p.comm, p.pid, p.pid, p.rss, p.anon))
		write(p.pid, "cgroup", p.cgroup)
	}
	if self != 0 {
		if err := os.Symlink(strconv.Itoa(self), filepath.Join(root, "self")); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The same three containers as they are seen with each kind of cgroups.
var (
	v1 = func(name string) string {
		return "12:memory:/kubepods/burstable/pod1/" + name + "\n11:cpu,cpuacct:/kubepods/burstable/pod1/" + name + "\n0::/\n"
	}
	v2          = func(name string) string { return "0::/kubepods.slice/pod1.slice/cri-" + name + ".scope\n" }
	v2namespace = func(name string) string {
		if name == "app" {
			return "0::/\n"
		}
		return "0::/../cri-" + name + ".scope\n"
	}
	hidden = func(string) string { return "0::/\n" }
)

func TestReadPodTellsContainersApart(t *testing.T) {
	for name, cgroup := range map[string]func(string) string{"v1": v1, "v2": v2, "v2 in a namespace": v2namespace} {
		t.Run(name, func(t *testing.T) {
			root := procTree(t, 20,
				fake{pid: 1, comm: "pause", cgroup: cgroup("sandbox"), utime: 1000, rss: 700, anon: 50},
				fake{pid: 7, comm: "daprd", cgroup: cgroup("daprd"), utime: 250, stime: 50, rss: 90000, anon: 20000},
				// A helper of the sidecar is part of it, whatever it is called.
				fake{pid: 9, comm: "helper", cgroup: cgroup("daprd"), utime: 100, rss: 1000, anon: 100},
				fake{pid: 20, comm: "perfrun", cgroup: cgroup("app"), utime: 100, stime: 25, cutime: 300, cstime: 75, rss: 30000, anon: 10000},
				fake{pid: 33, comm: "a) (b", cgroup: cgroup("app"), utime: 1, rss: 2000, anon: 1000},
			)
			got, err := ReadPod(root)
			if err != nil {
				t.Fatal(err)
			}
			want := measure.PodUsage{
				App:     measure.Usage{CPUSeconds: 5.01, Started: 1234, Resident: 32000 << 10, Anonymous: 11000 << 10},
				Sidecar: &measure.Usage{CPUSeconds: 4, Started: 1234, Resident: 91000 << 10, Anonymous: 20100 << 10},
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadPodRoles(t *testing.T) {
	second := measure.Usage{CPUSeconds: 1, Started: 1234, Resident: 1 << 10, Anonymous: 1 << 10}
	two := measure.Usage{CPUSeconds: 2, Started: 1234, Resident: 2 << 10, Anonymous: 2 << 10}
	at := func(pid int, comm, cgroup string) fake {
		return fake{pid: pid, comm: comm, cgroup: cgroup, utime: 100, rss: 1, anon: 1}
	}
	tests := map[string]struct {
		self      int
		processes []fake
		want      measure.PodUsage
	}{
		"no sidecar": {7, []fake{at(1, "pause", v2("sandbox")), at(7, "perfrun", v2("app"))}, measure.PodUsage{App: second}},
		"no shared namespace: the reader is process 1": {1, []fake{at(1, "perfrun", v2("app")), at(7, "child", v2("app"))}, measure.PodUsage{App: two}},
		"a sandbox of another name": {7, []fake{at(1, "infra", v2("sandbox")), at(7, "perfrun", v2("app")), at(8, "daprd", v2("daprd"))},
			measure.PodUsage{App: second, Sidecar: &second}},
		"the reader is not known": {0, []fake{at(1, "pause", v2("sandbox")), at(7, "perfrun", v2("app"))}, measure.PodUsage{App: second}},
		"a third container is app": {7, []fake{at(1, "pause", v2("sandbox")), at(7, "perfrun", v2("app")), at(9, "envoy", v2("mesh"))},
			measure.PodUsage{App: two}},
		"cgroups are hidden": {7, []fake{at(1, "pause", hidden("")), at(7, "perfrun", hidden("")), at(8, "daprd", hidden(""))},
			measure.PodUsage{App: second, Sidecar: &second}},
		"an app called pause": {7, []fake{at(1, "perfrun", hidden("")), at(7, "pause", hidden(""))}, measure.PodUsage{App: two}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ReadPod(procTree(t, tc.self, tc.processes...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadOthersLeavesTheReaderOut(t *testing.T) {
	one := measure.Usage{CPUSeconds: 1, Started: 1234, Resident: 1 << 10, Anonymous: 1 << 10}
	at := func(pid int, comm, cgroup string) fake {
		return fake{pid: pid, comm: comm, cgroup: cgroup, utime: 100, rss: 1, anon: 1}
	}
	for name, cgroup := range map[string]func(string) string{"v1": v1, "v2": v2, "hidden": hidden} {
		t.Run(name, func(t *testing.T) {
			pod := []fake{at(1, "pause", cgroup("sandbox")), at(7, "daprd", cgroup("daprd")), at(20, "perfrun", cgroup("meter"))}
			if _, err := ReadOthers(procTree(t, 20, pod...)); !errors.Is(err, ErrNoApp) {
				t.Errorf("without an app: %v", err)
			}
			got, err := ReadOthers(procTree(t, 20, append(pod, at(30, "perfrun", cgroup("app")))...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(measure.PodUsage{App: one, Sidecar: &one}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadPodErrors(t *testing.T) {
	if _, err := ReadPod(t.TempDir()); !errors.Is(err, ErrNoProcesses) {
		t.Errorf("empty: %v", err)
	}
	if _, err := ReadPod(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("missing: no error")
	}
	root := procTree(t, 0, fake{pid: 1, comm: "pause", cgroup: "rubbish"})
	if _, err := ReadPod(root); err == nil {
		t.Error("unparsable cgroup: no error")
	}
	// A process that ends between listing and reading is left out.
	root = procTree(t, 0, fake{pid: 1, comm: "pause", cgroup: v2("sandbox")}, fake{pid: 2, comm: "gone", cgroup: v2("app")}, fake{pid: 3, comm: "app", cgroup: v2("app")})
	if err := os.Remove(filepath.Join(root, "2", "status")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPod(root); err != nil {
		t.Errorf("process gone: %v", err)
	}
}

// TestReadPodOnThisMachine checks against the real kernel that CPU and memory are this process's and its child's.
func TestReadPodOnThisMachine(t *testing.T) {
	if _, err := os.Stat(filepath.Join(DefaultProcRoot, "self", "cgroup")); err != nil {
		t.Skip("no /proc here")
	}
	child := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	processes, self, err := readProcesses(DefaultProcRoot)
	if err != nil {
		t.Fatal(err)
	}
	if self != os.Getpid() {
		t.Errorf("self is %d, want %d", self, os.Getpid())
	}
	before := find(t, processes, child.Process.Pid)
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
		processes, _, err = readProcesses(DefaultProcRoot)
		if err != nil {
			t.Fatal(err)
		}
		if after := find(t, processes, child.Process.Pid); after.usage.CPUSeconds >= before.usage.CPUSeconds+0.1 {
			me := find(t, processes, self)
			if me.usage.Resident < 1<<20 || me.usage.Anonymous <= 0 || me.usage.Anonymous > me.usage.Resident || me.container != after.container {
				t.Errorf("this process: %+v, its child: %+v", me, after)
			}
			return
		}
	}
	t.Error("a busy child does not use CPU")
}

func find(t *testing.T, processes []process, pid int) process {
	t.Helper()
	for _, p := range processes {
		if p.pid == pid {
			return p
		}
	}
	t.Fatalf("process %d is not among %d", pid, len(processes))
	return process{}
}

func BenchmarkReadPod(b *testing.B) {
	for b.Loop() {
		if _, err := ReadPod(DefaultProcRoot); err != nil {
			b.Fatal(err)
		}
	}
}
