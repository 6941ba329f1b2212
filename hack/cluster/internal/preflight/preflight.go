// Package preflight finds out, before anything is built or started, whether
// this machine can carry a cluster, and installs what is missing where it may.
package preflight

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

// need is something of the machine's own that a cluster uses.
type need struct {
	file string // a command, or the path of a file below one of pluginDirs
	pkg  string // the package of Debian and Ubuntu that has it
	why  string
}

var commands = []need{
	{"ip", "iproute2", "joins the nodes"},
	{"nsenter", "util-linux", "enters the nodes"},
	{"unshare", "util-linux", "makes the nodes"},
	{"mount", "mount", "mounts what a node sees"},
	{"iptables", "iptables", "translates the addresses of Services"},
	{"conntrack", "conntrack", "forgets connections to a Service's old pods"},
	{"runc", "runc", "runs containers"},
}

var plugins = []need{
	{"ptp", "containernetworking-plugins", "connects a pod to its node"},
	{"host-local", "containernetworking-plugins", "hands out pods' addresses"},
	{"portmap", "containernetworking-plugins", "opens ports of a node for a pod"},
	{"loopback", "containernetworking-plugins", "brings up a pod's loopback"},
}

// pluginDirs are where distributions put CNI plugins.
var pluginDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// Platform refuses a kind of machine on which nothing here can work.
func Platform() error {
	if runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		return fmt.Errorf("a local cluster needs Linux on amd64 or arm64, and this is %s on %s; use any other cluster that has Dapr and metrics-server", runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// Root refuses a user who may not make a cluster, or look into one.
func Root() error {
	if os.Geteuid() != 0 {
		return errors.New("a local cluster needs root for namespaces, mounts and control groups; run it with sudo env PATH=\"$PATH\" in front")
	}
	return nil
}

// Toolchain refuses to build without Go.
func Toolchain() error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("go is not on the PATH; install Go 1.26 or newer from https://go.dev/dl, and with sudo pass your PATH on: sudo env PATH=\"$PATH\" and the command")
	}
	return nil
}

// Tools makes sure of the machine's commands and CNI plugins.
func Tools(ctx context.Context, r *progress.Reporter, log string) error {
	// Some machines give root a PATH without these.
	path := os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin"
	if err := os.Setenv("PATH", path); err != nil {
		return fmt.Errorf("extending PATH: %w", err)
	}
	missing := absent()
	if len(missing) == 0 {
		return nil
	}
	for _, n := range missing {
		r.Say("missing: %s (%s), from package %s", n.file, n.why, n.pkg)
	}
	packages := packagesOf(missing)
	if !debian() {
		return fmt.Errorf("install what is missing and run the command again; Debian and Ubuntu have it in: %s", strings.Join(packages, " "))
	}
	err := r.Step("installing "+strings.Join(packages, " ")+" with apt-get", func(*progress.Step) (string, error) {
		return "installed " + strings.Join(packages, " "), install(ctx, packages, log)
	})
	if err != nil {
		return err
	}
	if still := absent(); len(still) > 0 {
		return fmt.Errorf("%s is still missing after installing %s; install it by hand", still[0].file, strings.Join(packages, " "))
	}
	return nil
}

// Path is the PATH for processes of the cluster, which find iptables,
// conntrack and runc by name. It depends on the machine, not on whoever calls,
// or each of them would seem to want other processes.
func Path() string {
	dirs := []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	for _, n := range commands {
		file, err := exec.LookPath(n.file)
		if dir := filepath.Dir(file); err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

func absent() []need {
	var missing []need
	for _, n := range commands {
		if _, err := exec.LookPath(n.file); err != nil {
			missing = append(missing, n)
		}
	}
	dir := PluginDir()
	for _, n := range plugins {
		if _, err := os.Stat(filepath.Join(dir, n.file)); err != nil {
			missing = append(missing, n)
		}
	}
	return missing
}

// PluginDir is the folder with all the CNI plugins needed, or the one where a
// package would put them.
func PluginDir() string {
	for _, dir := range pluginDirs {
		all := !slices.ContainsFunc(plugins, func(n need) bool {
			_, err := os.Stat(filepath.Join(dir, n.file))
			return err != nil
		})
		if all {
			return dir
		}
	}
	return pluginDirs[0]
}

func packagesOf(missing []need) []string {
	var packages []string
	for _, n := range missing {
		if !slices.Contains(packages, n.pkg) {
			packages = append(packages, n.pkg)
		}
	}
	slices.Sort(packages)
	return packages
}

func debian() bool {
	f, err := os.Open("/etc/os-release")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	if _, err := exec.LookPath("apt-get"); err != nil {
		return false
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), "=")
		if key == "ID" || key == "ID_LIKE" {
			for _, id := range strings.Fields(strings.Trim(value, `"`)) {
				if id == "debian" || id == "ubuntu" {
					return true
				}
			}
		}
	}
	return false
}

// install runs apt-get. None of the packages has a service to start, and
// recommended ones, which might, are left out; Ubuntu's needrestart is told to
// restart nothing on this occasion.
func install(ctx context.Context, packages []string, log string) error {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return fmt.Errorf("making log folder: %w", err)
	}
	out, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	defer func() { _ = out.Close() }() // a log
	steps := [][]string{
		{"update"},
		append([]string{"install", "-y", "--no-install-recommends"}, packages...),
	}
	// Another apt may be at work, such as the one that upgrades unattended.
	patience := []string{"-o", "DPkg::Lock::Timeout=120"}
	for _, args := range steps {
		cmd := exec.CommandContext(ctx, "apt-get", append(patience, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("running apt-get %s: %w; see %s, or install by hand: %s", args[0], err, log, strings.Join(packages, " "))
		}
	}
	return nil
}

const gib = 1 << 30

// Resources refuses a machine on which a cluster would run into trouble half
// way. Building takes far more disk than running.
func Resources(dir string, building bool) error {
	for _, err := os.Stat(dir); err != nil; _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("looking at the disk: %w", err)
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("looking at the memory: %w", err)
	}
	return judge(dir, fs.Bavail*uint64(fs.Bsize), memTotal(string(info)), building)
}

// judge knows what was measured: compiling everything fills Go's module cache
// with 7 GB and its build cache with up to 9; the programs take 1.3 GB, a cluster
// of three nodes 1.6 GB of disk before anything is loaded. It takes 1 GB of
// memory, and compiling, or pods under load, 3 more.
func judge(dir string, disk, memory uint64, building bool) error {
	wantDisk := uint64(4 * gib)
	if building {
		wantDisk = 18 * gib
	}
	if disk < wantDisk {
		return fmt.Errorf("%s has %.1f GB free, and %.0f GB are needed; free some, or choose another disk with --dir (go's caches move with GOCACHE and GOMODCACHE); --ignore-resources tries anyway",
			dir, float64(disk)/gib, float64(wantDisk)/gib)
	}
	// A machine sold as 6 GB shows a little less.
	if memory < 6*gib*9/10 {
		return fmt.Errorf("this machine has %.1f GB of memory, and a cluster with something to measure needs 6; --ignore-resources tries anyway", float64(memory)/gib)
	}
	return nil
}

func memTotal(meminfo string) uint64 {
	for line := range strings.SplitSeq(meminfo, "\n") {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "MemTotal:" {
			kb, err := strconv.ParseUint(f[1], 10, 64)
			if err == nil {
				return kb * 1024
			}
		}
	}
	return 0
}
