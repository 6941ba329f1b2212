package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is a folder that looks like one, with the test inside it.
func checkout(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(dir, "hack/cluster/modules/kubernetes")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(module)
	return dir
}

func TestNew(t *testing.T) {
	dir := checkout(t)
	l, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	if l.Dir != filepath.Join(dir, ".local") || l.Modules != filepath.Join(dir, "hack/cluster/modules") {
		t.Errorf("got %+v", l)
	}
	other, err := New(filepath.Join(dir, "elsewhere"))
	if err != nil {
		t.Fatal(err)
	}
	if l.Cgroup() == other.Cgroup() {
		t.Error("two folders share a control group")
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	linked, err := New(filepath.Join(dir, "link/elsewhere"))
	if err != nil {
		t.Fatal(err)
	}
	if linked.Cgroup() != other.Cgroup() {
		t.Error("one folder has two names")
	}
}

func TestNewRefusesShadowedFolders(t *testing.T) {
	checkout(t)
	for _, dir := range []string{"/run/x", "/var/lib/x/y", "/var/log"} {
		if _, err := New(dir); err == nil || !strings.Contains(err.Error(), "--dir") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestEverythingIsInside(t *testing.T) {
	l := Layout{Dir: "/x/.local"}
	for _, path := range []string{l.Bin("etcd"), l.Logs("a"), l.Lock(), l.Cluster(), l.State(), l.Kubeconfig(),
		l.Namespaces(), l.PKI(), l.Config(), l.Images(), l.Procs(), l.Node("n1", "lib")} {
		if !strings.HasPrefix(path, l.Dir+"/") {
			t.Errorf("%s is outside", path)
		}
	}
}
