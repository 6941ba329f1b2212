package build

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"perfrun.dev/perfrun/hack/cluster/internal/layout"
	"perfrun.dev/perfrun/hack/cluster/internal/plan"
	"perfrun.dev/perfrun/hack/cluster/internal/progress"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFingerprintFollowsWhatIsBuilt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m/go.mod"), "module m\n")
	write(t, filepath.Join(dir, "m/go.sum"), "a\n")
	write(t, filepath.Join(dir, "m/x/main.go"), "package main\n")
	g := Group{Module: "m", Vars: map[string]string{"a.b": "1", "a.c": "2"}}
	print := func(g Group, toolchain string) string {
		t.Helper()
		p, err := g.fingerprint(dir, toolchain)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := print(g, "go1")
	for range 10 { // the order of a map must not matter
		if print(g, "go1") != first {
			t.Fatal("it differs without a reason")
		}
	}
	if print(g, "go2") == first {
		t.Error("another Go makes no difference")
	}
	tagged := g
	tagged.Tags = "x"
	if print(tagged, "go1") == first {
		t.Error("other tags make no difference")
	}
	write(t, filepath.Join(dir, "m/README.md"), "text\n")
	if print(g, "go1") != first {
		t.Error("a text makes a difference")
	}
	for _, file := range []string{"go.sum", "x/main.go"} {
		before := print(g, "go1")
		write(t, filepath.Join(dir, "m", file), "changed\n")
		if print(g, "go1") == before {
			t.Errorf("%s makes no difference", file)
		}
	}
}

func TestStamp(t *testing.T) {
	dir := t.TempDir()
	binary, stamp := filepath.Join(dir, "etcd"), filepath.Join(dir, ".stamps/etcd")
	if fresh(stamp, binary, "p") {
		t.Error("nothing is fresh")
	}
	write(t, binary, "program")
	if fresh(stamp, binary, "p") {
		t.Error("a program without a stamp is fresh")
	}
	if err := writeStamp(stamp, binary, "p"); err != nil {
		t.Fatal(err)
	}
	if !fresh(stamp, binary, "p") || fresh(stamp, binary, "q") {
		t.Error("the stamp does not tell")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(binary, later, later); err != nil {
		t.Fatal(err)
	}
	if fresh(stamp, binary, "p") {
		t.Error("another file is taken for the one built")
	}
}

func TestOutput(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":        "server",
		"k8s.io/kubernetes/cmd/kubelet":    "kubelet",
		"./coredns":                        "coredns",
		"github.com/dapr/dapr/cmd/daprd":   "daprd",
		"example.org/cmd/containerd-shim2": "containerd-shim2",
	} {
		if got := (Program{Package: pkg}).output(); got != want {
			t.Errorf("%s: got %s", pkg, got)
		}
	}
}

func TestEnvtestIsPartOfTheCluster(t *testing.T) {
	all := map[string]bool{}
	for _, g := range Cluster(plan.DefaultDapr) {
		for _, p := range g.Programs {
			if all[p.Name] {
				t.Errorf("%s is built twice", p.Name)
			}
			all[p.Name] = true
		}
	}
	for _, g := range Envtest() {
		for _, p := range g.Programs {
			if !all[p.Name] {
				t.Errorf("%s is not in the cluster", p.Name)
			}
		}
	}
}

func TestComponentVersion(t *testing.T) {
	v := componentVersion("v1.36.3")
	if v["k8s.io/component-base/version.gitMajor"] != "1" || v["k8s.io/client-go/pkg/version.gitMinor"] != "36" {
		t.Errorf("got %v", v)
	}
}

func TestRemoveSparesOthers(t *testing.T) {
	l := layout.Layout{Dir: t.TempDir()}
	for _, f := range []string{"etcd", "fortio", ".stamps/etcd", ".building-1/etcd"} {
		write(t, l.Bin(f), "x")
	}
	b := Builder{Layout: l, Report: &progress.Reporter{}}
	if err := b.Remove(Cluster(plan.DefaultDapr)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(l.Bin("*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "fortio" {
		t.Errorf("left: %v, %v", left, err)
	}
}
